"""DCE's neighbours: who may be one, who is chosen, from which views, and in how much memory."""

import dataclasses

import made
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from remanence.core.errors import SettingsError
from remanence.data.base import Images
from remanence.effects.colliding import Colliding

OFFICIAL = Colliding(neighbours=4, graph="epoch")
RULES = {
    "any": lambda i, j, is_new, label: True,
    "new": lambda i, j, is_new, label: is_new[j],
    "different": lambda i, j, is_new, label: label[i] != label[j],
    "different_new": lambda i, j, is_new, label: is_new[j] and label[i] != label[j],
}


def graph(effect, session, number=0, batch_size=5):
    """The neighbours of every image of the pool in an epoch, best first."""
    lens = effect.lens()
    lens.begin(session)
    lens.begin_epoch(made.epoch(session.pool, number, batch_size=batch_size), session)
    return lens.graph.tolist()


def clean(session):
    return session.pool.test_view(session.pool.everything)


def candidates(session, rule="new"):
    """For every image the places of those that may be its neighbours: never its own."""
    label = session.pool.labels.tolist()
    is_new = [one >= session.old_classes for one in label]
    places = range(len(label))
    return [[j for j in places if j != i and RULES[rule](i, j, is_new, label)] for i in places]


def ranked(session, images, rule="new"):
    """All candidates of every image, those of the highest cosine in the teacher's eyes first."""
    with torch.no_grad():
        features = session.teacher(images).features.double()
    unit = features / features.norm(dim=1, keepdim=True)
    alike = (unit @ unit.T).tolist()
    return [
        sorted(allowed, key=lambda j, own=own: -own[j])
        for own, allowed in zip(alike, candidates(session, rule), strict=True)
    ]


def first(ranking, count):
    return [places[:count] for places in ranking]


@pytest.mark.parametrize("kept", [2, 0], ids=["R=2", "R=0"])
@pytest.mark.parametrize("rule", RULES)
def test_nearest_on_clean_images_by_definition(rule, kept):
    session = made.session(kept=kept)
    found = graph(Colliding(neighbours=4, candidates=rule), session)
    assert found == first(ranked(session, clean(session), rule), 4)


@pytest.mark.parametrize("number", [0, 1])
def test_the_official_graph_is_made_on_the_views_of_the_epoch(number):
    session = made.session()
    views = made.epoch(session.pool, number).view(session.pool.everything)
    assert graph(OFFICIAL, session, number) == first(ranked(session, views), 4)


def test_a_graph_of_the_session_is_the_same_in_every_epoch_and_that_of_an_epoch_is_not():
    session = made.session()
    per_session = Colliding(neighbours=4)
    assert graph(per_session, session, 0) == graph(per_session, session, 1)
    assert graph(OFFICIAL, session, 0) != graph(OFFICIAL, session, 1)


@made.examples
@given(places=st.lists(st.integers(0, 2), min_size=6, max_size=6), count=st.integers(1, 5))
def test_of_duplicates_each_is_a_neighbour_of_the_others_and_never_of_itself(places, count):
    session = made.session(old=1, new=1, per_class=6, kept=0)
    images = made.images([1, 1, 1])[torch.tensor(places)]
    session = dataclasses.replace(session, pool=dataclasses.replace(session.pool, images=images))
    for i, near in enumerate(graph(Colliding(neighbours=count), session)):
        twins = {j for j in range(6) if j != i and places[j] == places[i]}
        assert i not in near and len(set(near)) == count
        assert twins >= set(near) or twins <= set(near)


def test_ties_are_broken_the_same_way_every_time():
    session = made.session(kept=0)
    same = Images(session.pool.images.pixels[:1].expand(12, -1, -1, -1), session.pool.images.labels)
    session = dataclasses.replace(session, pool=dataclasses.replace(session.pool, images=same))
    assert graph(OFFICIAL, session) == graph(OFFICIAL, session)


def test_bottom_is_the_farthest_of_the_candidates():
    session = made.session()
    farthest_first = [near[::-1] for near in ranked(session, clean(session))]
    assert graph(Colliding(neighbours=4, pick="bottom"), session) == first(farthest_first, 4)


@pytest.mark.parametrize("count", [4, 10])
def test_bottom_code_takes_the_forbidden_first_and_then_the_farthest(count):
    """The released line takes the largest distances after the masked ones were made infinite."""
    session = made.session()
    ranking = ranked(session, clean(session))
    for i, near in enumerate(graph(Colliding(neighbours=count, pick="bottom_code"), session)):
        forbidden = {i} | {j for j in range(18) if session.pool.labels[j] < 3}
        assert set(near[: len(forbidden)]) <= forbidden
        assert near[len(forbidden) :] == ranking[i][::-1][: max(0, count - len(forbidden))]


def test_rand_draws_different_candidates_again_for_every_epoch():
    session = made.session()
    effect = dataclasses.replace(OFFICIAL, pick="rand")
    drawn = [graph(effect, session, number) for number in range(20)]
    assert drawn[0] == graph(effect, session, 0) != drawn[1]
    for i, allowed in enumerate(candidates(session)):
        assert all(len(set(one[i])) == 4 for one in drawn)
        assert {j for one in drawn for j in one[i]} == set(allowed)


def test_rand_code_draws_from_everything_itself_and_old_images_included():
    session = made.session()
    effect = dataclasses.replace(OFFICIAL, pick="rand_code")
    drawn = [graph(effect, session, number) for number in range(40)]
    for i in range(len(session.pool)):
        assert {j for one in drawn for j in one[i]} == set(range(len(session.pool)))


def test_rand_code_draws_with_replacement():
    session = made.session()
    drawn = graph(dataclasses.replace(OFFICIAL, neighbours=10, pick="rand_code"), session)
    assert any(len(set(near)) < 10 for near in drawn)


@pytest.mark.parametrize("limit", [12, 15])
def test_candidate_limit_leaves_the_first_in_the_order_of_the_epoch(limit):
    session = made.session()
    epoch = made.epoch(session.pool)
    early = set(epoch.order[:limit].tolist())
    ranking = ranked(session, epoch.view(session.pool.everything))
    expected = [[j for j in near if j in early][:4] for near in ranking]
    effect = dataclasses.replace(OFFICIAL, candidate_limit=limit)
    assert graph(effect, session) == expected


TOO_FEW = {
    "more than all": Colliding(neighbours=13),
    "one more than there are besides itself": Colliding(neighbours=12),
    "one class has no others": Colliding(neighbours=7, candidates="different_new"),
    "limited": Colliding(neighbours=4, candidate_limit=3),
    "limited, each epoch": dataclasses.replace(OFFICIAL, candidate_limit=3),
    "bottom": Colliding(neighbours=12, pick="bottom"),
    "rand": Colliding(neighbours=12, pick="rand"),
}


@pytest.mark.parametrize("effect", TOO_FEW.values(), ids=TOO_FEW)
def test_too_few_candidates_are_one_clear_line(effect):
    with pytest.raises(SettingsError, match=r"effects\.colliding\.neighbours: .*increment 1") as no:
        graph(effect, made.session())
    assert "\n" not in str(no.value)


def test_as_many_neighbours_as_there_are_others():
    session = made.session()
    found = graph(Colliding(neighbours=11), session)
    assert [sorted(near) for near in found[:12]] == candidates(session)[:12]


REFUSED = {
    "one more than there are besides itself": Colliding(neighbours=12),
    "one class has no others": Colliding(neighbours=7, candidates="different_new"),
    "limited": Colliding(neighbours=4, candidate_limit=3),
}


@pytest.mark.parametrize("effect", REFUSED.values(), ids=REFUSED)
def test_what_must_fail_is_refused_before_any_work(effect):
    increments = [made.increment(0, 0, 3), made.increment(1, 3, 5)]
    with pytest.raises(SettingsError, match=r"effects\.colliding"):
        effect.check(increments)


def test_what_can_work_is_not_refused():
    increments = [made.increment(0, 0, 3), made.increment(1, 3, 5)]
    Colliding(neighbours=11).check(increments)
    Colliding(neighbours=6, candidates="different_new").check(increments)
    Colliding(neighbours=12, candidates="any").check(increments)


FRUGAL = {
    "top": Colliding(),
    "weighed by similarity": Colliding(weights="variant2"),
    "bottom_code": Colliding(pick="bottom_code", graph="epoch"),
    "rand": Colliding(pick="rand", candidates="different"),
}


@pytest.mark.parametrize("effect", FRUGAL.values(), ids=FRUGAL)
def test_no_tensor_is_as_large_as_all_pairs(effect):
    session = made.session(per_class=950, kept=33)
    with made.LargestTensor() as largest:
        graph(effect, session, batch_size=500)
    assert largest.nbytes < len(session.pool) ** 2  # a mask of all pairs would be that large
