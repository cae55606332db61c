"""Epochs: an order and views that are pure functions of seed and purpose, and every batch."""

import made
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from remanence.core import seeds
from remanence.loader import Epoch

POOL = made.pool([0] * 9, [1] * 4)


def epoch(members=None, seed=7, purpose=(1, "main", 0), batch_size=5, of=POOL):
    members = of.everything if members is None else torch.tensor(members)
    return Epoch(of, members, batch_size, seed, purpose)


@made.examples
@given(count=st.integers(1, 13), batch_size=st.integers(1, 15), seed=st.integers(0, 99))
def test_an_epoch_visits_every_member_once_and_keeps_the_last_partial_batch(
    count, batch_size, seed
):
    one = epoch(list(range(count)), seed=seed, batch_size=batch_size)
    sizes = [len(batch.labels) for batch in one.batches()]
    assert sizes == [batch_size] * (count // batch_size) + [count % batch_size] * (
        count % batch_size > 0
    )
    assert len(one) == len(sizes)
    visited = torch.cat([batch.indices for batch in one.batches()])
    assert sorted(visited.tolist()) == list(range(count))
    assert torch.equal(visited, one.order)


def test_only_members_are_visited():
    assert sorted(epoch([2, 3, 12]).order.tolist()) == [2, 3, 12]


def test_the_order_is_a_function_of_seed_and_purpose_and_nothing_else():
    one = epoch()
    torch.manual_seed(99)
    torch.rand(5)
    assert torch.equal(epoch().order, one.order)
    assert torch.equal(epoch(batch_size=3).order, one.order)
    assert torch.equal(epoch().view(POOL.everything), one.view(POOL.everything))


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 8},
        {"purpose": (2, "main", 0)},
        {"purpose": (1, "balanced", 0)},
        {"purpose": (1, "main", 1)},
    ],
)
def test_another_seed_or_purpose_gives_another_order_and_other_views(change):
    one, other = epoch(), epoch(**change)
    assert not torch.equal(one.order, other.order)
    assert not torch.equal(one.view(POOL.everything), other.view(POOL.everything))


def test_batches_hold_the_images_and_labels_of_their_places():
    one = epoch()
    for batch in one.batches():
        assert torch.equal(batch.labels, POOL.labels[batch.indices])
        assert torch.equal(batch.images, one.view(batch.indices))
        assert batch.epoch is one


def test_an_image_has_one_view_for_as_long_as_the_epoch_lasts():
    one = epoch()
    whole = one.view(POOL.everything)
    some = torch.tensor([11, 0, 0, 5])
    assert torch.equal(one.view(some), whole[some])
    assert torch.equal(epoch([11, 5]).view(some), whole[some])  # whoever else is a member


def test_an_epoch_that_was_cut_goes_on_with_the_same_batches():
    whole, rest = list(epoch().batches()), list(epoch().batches(1))
    assert len(rest) == len(whole) - 1 == 2
    for one, other in zip(whole[1:], rest, strict=True):
        assert torch.equal(one.indices, other.indices)
        assert torch.equal(one.images, other.images)


def test_seeds_for_different_purposes_differ():
    purposes = [(1, "main", 0), (1, "main", 1), (11, "main", 0), ("main", 1, 0), (1, "main", "0x")]
    assert len({seeds.derived(7, *purpose) for purpose in purposes}) == len(purposes)
    assert seeds.derived(7, 1, "main") == seeds.derived(7, 1, "main") < 2**63


@pytest.mark.parametrize("mirrored", [False, True])
def test_outputs_are_those_of_clean_images_in_eval_mode(mirrored, monkeypatch):
    monkeypatch.setattr("remanence.loader.EVALUATION_BATCH", 4)
    network = made.network(3, 2).train()
    found = POOL.outputs(network, POOL.everything, mirrored)
    assert network.training and not found.logits.requires_grad
    pixels = POOL.images.pixels.flip(3) if mirrored else POOL.images.pixels
    with torch.no_grad():
        expected = network.eval()(made.MOVING.test_view(pixels, made.DARKENED))
    torch.testing.assert_close(found.features, expected.features)
    torch.testing.assert_close(found.logits, expected.logits)
    torch.testing.assert_close(found.scores, expected.scores)
