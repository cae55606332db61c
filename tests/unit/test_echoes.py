"""Echoes: what is kept of a class, where it moves, and the new images that speak for it."""

from __future__ import annotations

import copy
import dataclasses

import made
import pytest
import torch
from torch.nn import functional as F

from remanence.effects.echoes import Echoes
from remanence.network import Output


@pytest.fixture
def sessions():
    """A base of three classes, and an increment that brings two."""
    learner = made.learner()
    base = learner.meet(made.increment(0, 0, 3))
    as_it_was = dataclasses.replace(copy.deepcopy(base), teacher=None)
    learner.close(base)
    return as_it_was, learner.meet(made.increment(1, 3, 5))


def begun(effect, sessions):
    base, session = sessions
    lens = effect.lens()
    lens.begin(base)
    lens.settle(base, made.pool([]), lambda out: out)
    lens.begin(session)
    return lens


def whole_batch(session):
    return next(iter(made.epoch(session.pool, batch_size=len(session.pool)).batches()))


def test_an_old_class_has_gone_a_share_of_its_neighbours_way(sessions):
    _, session = sessions
    lens = begun(Echoes(neighbours=2, share=0.25), sessions)
    before = session.pool.outputs(session.teacher, session.pool.everything).features
    moved = torch.randn(before.shape, generator=made.random(1))
    batch = whole_batch(session)
    lens.watch(
        Output((before + moved)[batch.indices], torch.zeros(1), torch.zeros(1)), batch, session
    )
    news = before[: session.pool.new_count]
    for place, mean in zip(lens.places(), lens.means, strict=True):
        nearest = F.cosine_similarity(news, mean[None]).argsort(descending=True)[:2]
        torch.testing.assert_close(place, mean + 0.25 * moved[nearest].mean(0))


def test_an_echo_is_an_image_moved_from_its_class_to_an_old_one(sessions):
    _, session = sessions
    lens = begun(Echoes(weight=0.5), sessions)
    batch = whole_batch(session)
    features = session.network(batch.images).features
    torch.manual_seed(3)
    seen = lens.beside(Output(features, torch.zeros(1), torch.zeros(1)), batch, session)
    torch.manual_seed(3)
    drawn = torch.randint(3, batch.labels.shape)
    losses = []
    for image, label, old in zip(features, batch.labels, drawn, strict=True):
        own = lens.bank[session.pool.labels == label].mean(0)
        logits = session.network.head((lens.means[old] + image - own)[None]).logits[0].double()
        losses.append(logits.logsumexp(0) - logits[old])
    torch.testing.assert_close(
        seen.double(), 0.5 * torch.stack(losses).mean(), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("through", [True, False])
def test_its_gradient_reaches_the_network_if_wanted(through, sessions):
    _, session = sessions
    lens = begun(Echoes(through=through), sessions)
    batch = whole_batch(session)
    out = session.network(batch.images)
    session.network.zero_grad(set_to_none=True)
    lens.beside(out, batch, session).backward()
    assert session.network.head.weights[-1].grad is not None
    reached = [one.grad is not None for one in session.network.trunk.parameters()]
    assert any(reached) == through


def test_one_vector_is_kept_of_each_class_and_nothing_else(sessions):
    _, session = sessions
    lens = begun(Echoes(), sessions)
    old = lens.means.clone()
    lens.settle(session, made.pool([]), lambda out: out)
    torch.testing.assert_close(lens.means[:3], old)  # nothing has moved: no step was taken
    out = session.pool.outputs(session.network, session.pool.everything).features
    for label in (3, 4):
        mean = out[session.pool.labels == label].mean(0)
        torch.testing.assert_close(lens.means[label], mean)
    state = lens.state()
    assert [name for name, value in state.items() if value is not None] == ["means"]


def test_the_base_and_other_stages_are_left_alone(sessions):
    base, session = sessions
    batch = whole_batch(base)
    out = base.network(batch.images)
    assert Echoes().lens().beside(out, batch, base) is None
    lens = begun(Echoes(), sessions)
    other = dataclasses.replace(made.epoch(session.pool), is_main=False)
    batch = next(iter(other.batches()))
    assert lens.beside(session.network(batch.images), batch, session) is None
