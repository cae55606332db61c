"""LUCIR's loss, term by term and as a whole, against its definition image by image."""

import dataclasses
import json
import math
from types import SimpleNamespace
from typing import ClassVar

import made
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from remanence import augment
from remanence.data.cifar100 import Cifar100
from remanence.losses import cosine_distance, margin_ranking
from remanence.methods.lucir import Lucir
from remanence.network import Output


class Photos(Cifar100):
    """Data at the scale of ImageNet."""

    scale: ClassVar = "imagenet_full"


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=made.random(seed), dtype=torch.float64)


def distance_by_definition(features, old_features):
    """1 - cos, mean over images."""
    far = []
    for x, y in zip(features.tolist(), old_features.tolist(), strict=True):
        dot = sum(a * b for a, b in zip(x, y, strict=True))
        far.append(1 - dot / math.hypot(*x) / math.hypot(*y))
    return sum(far) / len(far)


def ranking_by_definition(scores, labels, old_classes, margin, rivals):
    """Hinge of own score against each of the best new scores, mean over old images x rivals."""
    hinges = []
    for row, label in zip(scores.tolist(), labels.tolist(), strict=True):
        if label < old_classes:
            best_new = sorted(row[old_classes:], reverse=True)[:rivals]
            hinges += [max(0.0, margin - row[label] + rival) for rival in best_new]
    return sum(hinges) / len(hinges) if hinges else 0.0


@made.examples
@given(count=st.integers(1, 7), width=st.integers(2, 6), seed=st.integers(0, 99))
def test_less_forget_is_the_mean_of_one_minus_cosine(count, width, seed):
    x, y = noise(count, width, seed=seed), noise(count, width, seed=seed + 100)
    assert float(cosine_distance(x, y)) == pytest.approx(distance_by_definition(x, y))
    assert float(cosine_distance(x, 3 * x)) == pytest.approx(0, abs=1e-12)  # scale is no matter


@made.examples
@given(
    old=st.integers(1, 4),
    new=st.integers(1, 4),
    rivals=st.integers(1, 3),
    margin=st.floats(0, 1),
    data=st.data(),
)
def test_ranking_of_old_images_against_new_classes(old, new, rivals, margin, data):
    labels = torch.tensor(data.draw(st.lists(st.integers(0, old + new - 1), min_size=1)))
    scores = noise(len(labels), old + new, seed=old + 10 * new).tanh()
    expected = ranking_by_definition(scores, labels, old, margin, min(rivals, new))
    found = margin_ranking(scores, labels, old, margin, rivals)
    assert float(found) == pytest.approx(expected)


def test_ranking_by_hand():
    """One old image: own score 0.6, new scores 0.5 and 0.2, one new image that does not count."""
    scores = torch.tensor([[0.6, 0.0, 0.5, 0.2], [0.0, 0.0, 0.0, 0.9]])
    labels = torch.tensor([0, 3])
    assert float(margin_ranking(scores, labels, 2, 0.5, 2)) == pytest.approx((0.4 + 0.1) / 2)
    one_new_class = margin_ranking(scores[:1, :3], labels[:1], 2, 0.5, 2)
    assert float(one_new_class) == pytest.approx(0.4)


def test_ranking_is_zero_without_old_images():
    scores = noise(3, 5).requires_grad_()
    loss = margin_ranking(scores, torch.tensor([3, 4, 3]), 3, 0.5, 2)
    assert float(loss.detach()) == 0


def less_forget(method, old_classes, new_classes):
    """What LUCIR adds for features at right angles to the teacher's, whose distance is 1."""
    classes = old_classes + new_classes
    session = dataclasses.replace(made.session(), old_classes=old_classes, classes=classes)
    scores = torch.zeros(1, classes)
    out = Output(torch.tensor([[1.0, 0.0]]), scores, scores)
    old = Output(torch.tensor([[0.0, 2.0]]), scores, scores)
    batch = SimpleNamespace(labels=torch.tensor([classes - 1]))
    terms = method.preserve(out, old, batch, session)
    assert float(terms["ranking"]) == 0  # the image is new
    return round(float(terms["less_forget"]), 2)


def test_weight_of_less_forget_grows_with_the_share_of_old_classes():
    cifar = Lucir().resolved(Cifar100())
    five = [less_forget(cifar, 50 + 10 * t, 10) for t in range(5)]
    assert five == [11.18, 12.25, 13.23, 14.14, 15.00]
    assert [less_forget(cifar, 50, 5), less_forget(cifar, 95, 5)] == [15.81, 21.79]
    assert [less_forget(cifar, 50, 2), less_forget(cifar, 98, 2)] == [25.0, 35.0]
    photos = Lucir().resolved(Photos())
    assert [less_forget(photos, 500 + 100 * t, 100) for t in (0, 4)] == [22.36, 30.0]
    assert less_forget(Lucir(less_forget=3.0, adaptive=False), 50, 5) == 3.0


def test_classification_is_cross_entropy_over_all_classes():
    logits, labels = noise(4, 5), torch.tensor([0, 4, 2, 2])
    losses = Lucir().classify(Output(logits, logits, logits), labels, made.session())
    for row, label, loss in zip(logits.tolist(), labels.tolist(), losses.tolist(), strict=True):
        assert loss == pytest.approx(math.log(sum(map(math.exp, row))) - row[label])


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_a_step_of_an_increment_descends_the_sum_of_three_terms(weight, tmp_path, monkeypatch):
    """L = CE + 5 sqrt(old / new) less-forget + ranking; in the base increment CE alone."""
    monkeypatch.setitem(augment.NAMED, "still", made.STILL)
    method = {"name": "lucir", "less_forget": 5.0, "classification_weight": weight}
    training = {"epochs": 1, "batch": 100, "augmentation": "still", "rate": 0.5}
    learner = made.learner({"method": method, "training": training})
    expected = []
    for increment in (made.increment(0, 0, 3), made.increment(1, 3, 5)):
        session = learner.meet(increment)
        pool = session.pool
        seen = session.network.train()(pool.test_view(pool.everything))
        logits = seen.logits.detach().double()
        probabilities = logits.softmax(1)[pool.everything, pool.labels]
        loss = float(-probabilities.log().mean())
        if session.teacher is not None:
            old = session.teacher(pool.test_view(pool.everything))
            growth = math.sqrt(3 / 2)
            loss = weight * loss + 5 * growth * distance_by_definition(seen.features, old.features)
            loss += ranking_by_definition(seen.scores, pool.labels, 3, 0.5, 2)
        expected.append(loss)
        made.fit(learner, session, tmp_path)
        learner.close(session)
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["loss"] for line in log] == pytest.approx(expected, abs=2e-5)
