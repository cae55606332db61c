"""DCE and MER over every method, with and without exemplars: each pair does what it is defined as.

The references are written out in float64 from what networks say. What a method preserves is taken
from the method: it is tested by itself, and here only that no effect touches it.
"""

from __future__ import annotations

import copy
import dataclasses

import made
import pytest
import torch
from torch.nn import functional as F

from remanence.core import choices
from remanence.engine.readings import Lenses
from remanence.engine.step import Step
from remanence.heads import CorrectedHead, CosineHead, LinearHead, ProxyHead
from remanence.loader import Epoch

NEED_EXEMPLARS = {"bic", "mnemonics", "tpcil"}
PAIRS = [
    (method, keep)
    for method in choices.names("methods")
    for keep in (0, 2)
    if keep or method not in NEED_EXEMPLARS
]
each_pair = pytest.mark.parametrize(("method", "keep"), PAIRS)
NEIGHBOURS = 4


def learner(method, keep, effects):
    kept = {"method": method, "effects": effects, "memory": {"per_class": keep}}
    return made.learner({**kept, "method": {"name": method}})


# DCE


def in_an_increment(method, keep):
    """Learner and session when increment 1 is about to be learned by a network that has moved."""
    learning = learner(method, keep, {"colliding": {"neighbours": NEIGHBOURS}})
    learning.close(learning.meet(made.increment(0, 0, 3)))
    session = learning.meet(made.increment(1, 3, 5))
    with torch.no_grad():
        for name, parameter in session.network.named_parameters():
            if name not in ("head.beta", "head.gamma"):  # these move in a stage of their own
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=made.random(3)))
        if isinstance(session.network.head, CosineHead | ProxyHead):
            session.network.head.scale.fill_(3.0)
    learning.lenses.begin(session)
    return learning, session


def neighbours_by_definition(session):
    """For each image of the pool its nearest visited new images, but not itself."""
    pool = session.pool
    old = session.teacher(pool.test_view(pool.everything)).features.double()
    unit = old / old.norm(dim=1, keepdim=True)
    may_be = [one for one in session.visited.tolist() if one < pool.new_count]
    return [
        sorted((j for j in may_be if j != i), key=lambda j, i=i: -float(unit[i] @ unit[j]))
        for i in range(len(pool))
    ]


def log_of_own(method, logits, labels):
    """What the method's classification takes of each image: log p, or PODNet's likeness of it."""
    logits, picked = logits.double(), labels[:, None]
    if method != "podnet":
        return logits.log_softmax(1).gather(1, picked)[:, 0]
    top = logits.max(1, keepdim=True).values  # it has a gradient in the published code, too
    own = (logits - top).gather(1, picked)[:, 0]
    others = (logits - top).exp().sum(1) - own.exp()
    return own - (1 + others).log()


def reference_loss(method, learning, session, network, batch):
    """w mean -log(p/2 + q/2) + what is preserved; q by the bank as it is first filled."""
    pool = session.pool
    network.eval()
    bank = network(pool.test_view(pool.everything)).logits.detach().double().softmax(1)
    near = neighbours_by_definition(session)
    q = [
        sum(float(bank[j, label]) for j in near[i][:NEIGHBOURS]) / NEIGHBOURS
        for i, label in zip(batch.indices.tolist(), batch.labels.tolist(), strict=True)
    ]
    network.train()
    if method == "frozen":
        network.trunk.eval()
    out = network(batch.images)
    p = log_of_own(method, out.logits, batch.labels).exp()
    loss = -(p / 2 + torch.tensor(q, dtype=torch.float64) / 2).log().mean()
    weight = 2 / 5 if method == "bic" else 1.0
    with torch.no_grad():
        old = session.teacher(batch.images)
    seen = dataclasses.replace(session, network=network)
    preserved = learning.experiment.method.preserve(out, old, batch, seen)
    return weight * loss + sum(preserved.values())


@each_pair
def test_a_step_descends_the_joint_classification_beside_what_is_preserved(method, keep):
    learning, session = in_an_increment(method, keep)
    stage = learning.experiment.method.stages(session)[0]
    epoch = Epoch(session.pool, session.visited, 6, 7, (1, "main", 0), is_main=True)
    batch = next(epoch.batches())
    if keep:
        assert {bool(label < 3) for label in session.pool.labels.tolist()} == {True, False}
    network = copy.deepcopy(session.network)
    session.network.train()
    if stage.freezes_statistics:
        session.network.trunk.eval()
    step = Step(learning, session, stage)
    torch.manual_seed(5)
    found = step(batch)
    torch.manual_seed(5)
    expected = reference_loss(method, learning, session, network, batch)
    assert found.item() == pytest.approx(expected.item(), rel=1e-4)
    expected.backward()
    moving = {id(one) for one in stage.trained(session.network)}
    pairs = list(zip(session.network.parameters(), network.parameters(), strict=True))
    compared = [(a.grad, b.grad) for a, b in pairs if id(a) in moving and b.grad is not None]
    assert compared
    limit = stage.clamp or torch.inf
    for one, other in compared:
        expected = other.clamp(-limit, limit)
        torch.testing.assert_close(one, expected, rtol=1e-2, atol=1e-3 * float(expected.norm()))


def test_without_exemplars_what_is_left_is_a_pool_of_new_images():
    _, session = in_an_increment("lucir", 0)
    assert len(session.pool) == session.pool.new_count == 12


# MER


def bias_by_definition(head, x, h):
    """The part of the logits that comes from the projection of features on a unit direction."""
    whole = torch.cat(list(head.weights)).detach().double()
    if isinstance(head, LinearHead):
        bias = torch.stack([(one @ h) * (whole @ h) for one in x])
        if isinstance(head, CorrectedHead):
            bias[:, -len(head.weights[-1]) :] *= head.beta.item()
        return bias
    unit = x / x.norm(dim=1, keepdim=True)
    rows = whole / whole.norm(dim=-1, keepdim=True)
    if isinstance(head, CosineHead):
        return head.scale.item() * torch.stack([(one @ h) * (rows @ h) for one in unit])
    assert isinstance(head, ProxyHead)
    agreement = [-(((one - rows) * head.sharpness) ** 2).sum(2) for one in unit]
    attention = torch.stack([each.softmax(1) for each in agreement])
    part = torch.stack([2 * head.sharpness**2 * (one @ h) * (rows @ h) for one in unit])
    return head.scale.item() * (attention * part).sum(2)


@each_pair
def test_prediction_loses_what_lies_along_the_directions(method, keep, monkeypatch, tmp_path):
    learning = learner(method, keep, "momentum")
    means = []
    watch = Lenses.watch

    def noted(lenses, out, batch, session):
        if session.teacher is not None and batch.epoch.is_main:
            means.append(out.features.detach().double().mean(0))
        watch(lenses, out, batch, session)

    monkeypatch.setattr(Lenses, "watch", noted)
    directions = []
    for number, (first, classes) in enumerate([(0, 3), (3, 5), (5, 7)]):
        session = learning.meet(made.increment(number, first, classes))
        means.clear()
        made.fit(learning, session, tmp_path / str(number))
        learning.close(session)
        h = torch.zeros(8, dtype=torch.float64)
        for mean in means:
            h = 0.9 * h + mean
        directions.append(h / h.norm() if means else None)
        check_reading(learning, directions, keep)


def check_reading(learning, directions, keep):
    network = learning.network.eval()
    out = network(torch.rand(9, 3, 8, 8, generator=made.random(1)) * 4 - 2)
    seen = learning.lenses.read(out, network.head)
    if len(directions) == 1:
        assert torch.equal(seen["cnn+momentum"].logits, seen["cnn"].logits), (
            "the base is left alone"
        )
        return
    numbers = learning.lenses.numbers()
    alpha, beta = (numbers[f"cnn+momentum.{name}"] for name in ("alpha", "beta"))
    assert ((alpha, beta) == (0.5, 0.8)) is (keep == 0)
    x = out.features.detach().double()
    expected = out.logits.detach().double()
    expected -= alpha * beta * bias_by_definition(network.head, x, directions[-1])
    if directions[-2] is not None:
        expected -= alpha * (1 - beta) * bias_by_definition(network.head, x, directions[-2])
    found = seen["cnn+momentum"].logits.detach().double()
    assert F.mse_loss(found, out.logits.detach().double()) > 1e-8, "something is taken"
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
    assert "nme+momentum" not in seen
