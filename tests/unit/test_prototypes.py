"""Prototypes: what is kept of a class, where it moves, and what is drawn from it."""

from __future__ import annotations

import copy
import dataclasses

import made
import pytest
import torch
from torch.nn import functional as F

from remanence.effects.prototypes import Prototypes
from remanence.network import Output


def base_session(session):
    return dataclasses.replace(session, teacher=None, increment=0, old_classes=0)


@pytest.fixture
def sessions():
    """A base of three classes, and an increment that brings two."""
    learner = made.learner()
    base = learner.meet(made.increment(0, 0, 3))
    as_it_was = copy.deepcopy(base)
    learner.close(base)
    return as_it_was, learner.meet(made.increment(1, 3, 5))


def settled(effect, base):
    lens = effect.lens()
    lens.begin(base)
    lens.settle(base, made.pool([]), lambda out: out)
    return lens


def means_by_hand(session, classes):
    out = session.pool.outputs(session.network, session.pool.everything).features
    return torch.stack([out[session.pool.labels == label].mean(0) for label in classes])


def test_of_each_class_the_mean_and_the_spread_are_kept(sessions):
    base, _ = sessions
    lens = settled(Prototypes(), base)
    torch.testing.assert_close(lens.means, means_by_hand(base, range(3)))
    out = base.pool.outputs(base.network, base.pool.everything).features
    first = out[base.pool.labels == 0].double()
    variance = ((first - first.mean(0)) ** 2).sum(0) / len(first)
    torch.testing.assert_close(lens.spreads[0].double(), variance.sqrt(), atol=1e-6, rtol=1e-4)


def test_a_prototype_moves_as_its_nearest_new_images_have(sessions):
    base, session = sessions
    lens = settled(Prototypes(neighbours=2), base)
    lens.begin(session)
    before = session.pool.outputs(session.teacher, session.pool.everything).features
    moved = torch.randn(before.shape, generator=made.random(1))
    batch = next(iter(made.epoch(session.pool, batch_size=len(session.pool)).batches()))
    out = Output((before + moved)[batch.indices], torch.zeros(1), torch.zeros(1))
    lens.watch(out, batch, session)
    for place, mean in zip(lens._places(), lens.means, strict=True):
        news = before[: session.pool.new_count]
        nearest = F.cosine_similarity(news, mean[None]).argsort(descending=True)[:2]
        torch.testing.assert_close(place, mean + moved[nearest].mean(0))


def test_without_neighbours_prototypes_stay(sessions):
    base, session = sessions
    lens = settled(Prototypes(neighbours=0), base)
    lens.begin(session)
    assert torch.equal(lens._places(), lens.means)


def test_drawn_features_are_classified_beside_the_batch(sessions):
    base, session = sessions
    lens = settled(Prototypes(neighbours=0, scatter=0.0, weight=0.5), base)
    lens.begin(session)
    batch = next(iter(made.epoch(session.pool, batch_size=8).batches()))
    losses = torch.rand(8, generator=made.random(2))
    torch.manual_seed(3)
    seen = lens.classification(losses, batch, session)
    torch.manual_seed(3)
    labels = torch.randint(3, (8,))
    logits = session.network.head(lens.means[labels]).logits.double()
    by_hand = -logits.log_softmax(1)[torch.arange(8), labels].mean()
    torch.testing.assert_close(seen.double(), losses.double() + 0.5 * by_hand)


def test_the_base_is_left_alone(sessions):
    base, _ = sessions
    lens = Prototypes().lens()
    lens.begin(base)
    batch = next(iter(made.epoch(base.pool, batch_size=8).batches()))
    losses = torch.rand(8, generator=made.random(2))
    assert torch.equal(lens.classification(losses, batch, base), losses)


def test_after_an_increment_all_classes_are_remembered(sessions):
    base, session = sessions
    lens = settled(Prototypes(), base)
    old = lens.means.clone()
    lens.begin(session)
    lens.settle(session, made.pool([]), lambda out: out)
    assert lens.means.shape == (5, old.shape[1]) and lens.spreads.shape == lens.means.shape
    torch.testing.assert_close(lens.means[:3], old)  # nothing has moved: no step was taken
