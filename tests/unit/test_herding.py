"""Exemplars: herding against its definition, and what is kept of old classes."""

import made
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from remanence.memory import Memory, choose_exemplars, herd


def herding_by_definition(features, count):
    """Rank images one by one, so that the mean of those picked stays close to the mean of all."""
    directions = features / np.linalg.norm(features, axis=1, keepdims=True)
    mean = directions.mean(0)
    wish, ranked = mean.copy(), []
    for _ in range(1000):
        if len(ranked) == count:
            break
        best = int(np.argmax((directions * wish).sum(1)))  # those already picked compete, too
        if best not in ranked:
            ranked.append(best)
        wish += mean - directions[best]
    return ranked


def gaussian(rows, width, seed):
    return torch.randn(rows, width, generator=made.random(seed), dtype=torch.float64)


@made.examples
@given(rows=st.integers(1, 40), width=st.integers(2, 6), seed=st.integers(0, 99), data=st.data())
def test_herding_by_definition(rows, width, seed, data):
    features = gaussian(rows, width, seed)
    expected = herding_by_definition(features.numpy(), rows)
    count = data.draw(st.integers(0, len(expected)))
    assert herd(features, count).tolist() == expected[:count]


@made.examples
@given(places=st.lists(st.integers(0, 7), min_size=1, max_size=12), count=st.integers(0, 14))
def test_equal_images_are_each_kept_once(places, count):
    features = gaussian(8, 3, 0)[places]
    chosen = herd(features, count).tolist()
    assert len(set(chosen)) == len(chosen) == min(count, len(places))


@made.examples
@given(rows=st.integers(1, 12), smaller=st.integers(0, 12), seed=st.integers(0, 99))
def test_a_smaller_budget_keeps_a_prefix(rows, smaller, seed):
    features = gaussian(rows, 3, seed)
    whole = herd(features, rows).tolist()
    assert sorted(whole) == list(range(rows))  # count >= n keeps everything
    assert herd(features, smaller).tolist() == whole[:smaller]


def test_of_equally_good_images_the_first_is_kept():
    """Two directions, two images each; lengths do not count, and every sum here is exact."""
    features = torch.tensor([[2.0, 0], [1, 0], [0, 3], [0, 1]])
    expected = herding_by_definition(features.double().numpy(), 2)
    assert herd(features, 2).tolist() == expected == [0, 2]


def test_identical_images_fill_the_budget_in_their_order():
    assert herd(torch.ones(5, 3), 4).tolist() == [0, 1, 2, 3]


def test_the_mean_of_the_kept_is_closer_than_that_of_the_first():
    features = torch.nn.functional.normalize(gaussian(200, 8, 1))
    far = [
        (features[chosen].mean(0) - features.mean(0)).norm()
        for chosen in (herd(features, 10), slice(10))
    ]
    assert far[0] < far[1] / 3


def test_new_classes_are_herded_on_clean_images_in_eval_mode():
    session = made.session(old=2, new=2, per_class=9, kept=3)
    pool = session.pool
    chosen = choose_exemplars(pool, session.network.train(), range(2, 4), keep=3)
    with torch.no_grad():
        features = session.network.eval()(pool.test_view(pool.everything)).features.double()
    expected = []
    for label in (2, 3):
        members = (pool.labels == label).nonzero().flatten()
        ranked = herding_by_definition(features[members].numpy(), 3)
        expected += members[ranked].tolist()
    old = [place for place in range(len(pool)) if pool.labels[place] < 2]
    assert chosen.tolist() == old + expected


@pytest.mark.parametrize("keep", [0, 1, 2])
def test_old_classes_keep_their_best_and_are_never_herded_again(keep):
    session = made.session(old=3, new=2, kept=3)
    chosen = choose_exemplars(session.pool, session.network, range(3, 5), keep)
    first = session.pool.new_count  # exemplars stand behind the new images, best first
    expected = [first + 3 * label + rank for label in range(3) for rank in range(keep)]
    assert chosen.tolist()[: 3 * keep] == expected
    assert session.pool.labels[chosen].bincount(minlength=5).tolist() == [keep] * 5


def test_budgets():
    assert [Memory(per_class=20).share(classes) for classes in (50, 60, 100)] == [20, 20, 20]
    assert [Memory(total=2000).share(classes) for classes in (50, 60, 100)] == [40, 33, 20]


def test_a_learner_keeps_raw_images_of_every_class_seen(tmp_path):
    learner = made.learner({"memory": {"per_class": 2}})
    for number, (first, classes) in enumerate([(0, 3), (3, 5)]):
        increment = made.increment(number, first, classes)
        session = learner.meet(increment)
        made.fit(learner, session, tmp_path)
        kept_before = learner.exemplars
        learner.close(session)
        assert learner.exemplars.labels.tolist() == [c for c in range(classes) for _ in range(2)]
        old = len(kept_before)
        assert torch.equal(learner.exemplars.pixels[:old], kept_before.pixels)
        assert all(
            (increment.train.pixels == one).all((1, 2, 3)).any()
            for one in learner.exemplars.pixels[old:]
        )
