"""Hearsay: what the old network says of a neighbourhood, and the term that passes it on."""

from __future__ import annotations

import made
import pytest
import torch
from torch.nn import functional as F

from remanence.effects.hearsay import Hearsay


@pytest.fixture
def session():
    """An increment of two classes after a base of three, with some old images kept."""
    learner = made.learner({"memory": {"per_class": 2}})
    learner.close(learner.meet(made.increment(0, 0, 3)))
    return learner.meet(made.increment(1, 3, 5))


def heard_by_hand(session, neighbours, temperature):
    out = session.pool.outputs(session.teacher, session.pool.everything)
    believed = (out.logits.double() / temperature).softmax(1)
    count = session.pool.new_count
    rows = []
    for place, features in enumerate(out.features):
        alike = F.cosine_similarity(features[None], out.features[:count])
        near = alike.argsort(descending=True)[: neighbours + 1]
        rows.append(believed[near].mean(0) if place < count else believed[place])
    return torch.stack(rows)


@pytest.mark.parametrize("neighbours", [0, 3])
@pytest.mark.parametrize("among", ["old", "all"])
def test_the_term_is_the_cross_entropy_to_what_is_heard(neighbours, among, session):
    lens = Hearsay(weight=0.5, neighbours=neighbours, temperature=2.0, among=among).lens()
    lens.begin(session)
    batch = next(iter(made.epoch(session.pool, batch_size=8).batches()))
    out = session.network(batch.images)
    heard = heard_by_hand(session, neighbours, 2.0)[batch.indices]
    logits = out.logits.double() / 2.0
    log_p = (logits[:, :3] if among == "old" else logits).log_softmax(1)[:, :3]
    by_hand = 0.5 * 4.0 * -(heard * log_p).sum(1).mean()
    seen = lens.beside(out, batch, session)
    torch.testing.assert_close(seen.double(), by_hand, rtol=1e-5, atol=1e-6)


def test_the_base_is_left_alone():
    learner = made.learner()
    session = learner.meet(made.increment(0, 0, 3))
    lens = Hearsay().lens()
    lens.begin(session)
    batch = next(iter(made.epoch(session.pool, batch_size=8).batches()))
    assert lens.beside(session.network(batch.images), batch, session) is None


def test_nothing_is_kept(session):
    lens = Hearsay().lens()
    lens.begin(session)
    lens.settle(session, made.pool([]), lambda out: out)
    assert lens.state() == {"heard": None}
