"""Heads: what they say, how their rows grow, are imprinted, saved, and held or trained."""

import math

import made
import pytest
import torch
from torch.nn import functional as F

from remanence.core import archive
from remanence.heads import CosineHead, LinearHead
from remanence.methods.lucir import Lucir
from remanence.methods.shared.imprinting import imprinted

HEADS = (CosineHead, LinearHead)


def grown(kind, *groups, width=6):
    torch.manual_seed(sum(groups))
    head = kind(width)
    for classes in groups:
        head.grow(head.fresh_rows(classes))
    return head


def features(count=4, width=6):
    return torch.randn(count, width, generator=made.random(5))


def said_by_definition(head, x):
    """Cosine: scale * <x, w> / |x| / |w|. Linear: <w, x> + b."""
    rows = torch.cat(list(head.weights))
    if isinstance(head, LinearHead):
        return x @ rows.T + torch.cat(list(head.biases))
    return head.scale * (x @ rows.T) / (x.norm(dim=1)[:, None] * rows.norm(dim=1))


@pytest.mark.parametrize("kind", HEADS)
def test_logits_by_definition(kind):
    head, x = grown(kind, 3, 2).double(), features().double()
    if kind is CosineHead:
        head.scale.data.fill_(2.5)
    verdict = head(x)
    torch.testing.assert_close(verdict.logits, said_by_definition(head, x))
    if kind is CosineHead:
        torch.testing.assert_close(verdict.scores, verdict.logits / 2.5)
        assert verdict.scores.abs().max() <= 1


@pytest.mark.parametrize("kind", HEADS)
def test_along_is_what_the_projection_of_a_feature_says(kind):
    """The head's linear part on the projection; the cosine head keeps the feature's length."""
    head, x = grown(kind, 3, 2).double(), features().double()
    direction = F.normalize(torch.randn(6, generator=made.random(6)).double(), dim=0)
    rows = torch.cat(list(head.weights))
    if kind is CosineHead:
        rows, x_seen = F.normalize(rows), F.normalize(x)
    else:
        x_seen = x
    projected = torch.stack([(one @ direction) * direction for one in x_seen])
    torch.testing.assert_close(head.along(x, direction), projected @ rows.T)


@pytest.mark.parametrize("kind", HEADS)
def test_growth_keeps_what_was_known(kind):
    head, x = grown(kind, 3), features()
    rows, before = torch.cat(list(head.weights)).clone(), head(x).logits
    new = head.fresh_rows(2)
    head.grow(new)
    assert head.classes == 5
    assert torch.equal(torch.cat(list(head.weights)), torch.cat([rows, new]))
    torch.testing.assert_close(head(x).logits[:, :3], before, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", HEADS)
def test_fresh_rows_are_uniform_up_to_one_over_root_width(kind):
    rows = kind(16).fresh_rows(5000)
    assert rows.abs().max() <= 0.25
    assert rows.std().item() == pytest.approx(0.25 / math.sqrt(3), rel=0.01)  # of a uniform one


def test_scale_starts_at_one():
    assert grown(CosineHead, 3).scale.item() == 1


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("already", [(), (3,)])
def test_a_grown_head_loads_into_a_younger_one(kind, already, tmp_path):
    saved, younger = grown(kind, 3, 2, 1), grown(kind, *already)
    archive.save(tmp_path / "head", saved.state_dict())
    younger.load_state_dict(archive.load(tmp_path / "head"))
    assert younger.classes == 6
    assert torch.equal(younger(features()).logits, saved(features()).logits)
    assert [len(row) for row in younger.old_rows()] == [len(row) for row in saved.old_rows()]


@pytest.mark.parametrize("kind", HEADS)
def test_old_rows_are_all_but_the_last_block(kind):
    head = grown(kind, 3, 2, 1)
    last = {id(head.weights[-1])} | ({id(head.biases[-1])} if kind is LinearHead else set())
    old = {id(row) for row in head.old_rows()}
    assert {id(row) for row in head.rows()} == old | last
    assert not old & last


def test_imprinted_rows_by_definition():
    """Mean direction of the clean images of a class in eval mode, as long as old rows are."""
    session = made.session()
    network, pool = session.network.train(), session.pool
    before = {name: value.clone() for name, value in network.state_dict().items()}
    rows = imprinted(network, pool, range(3, 5))

    assert network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    network.eval()
    lengths = [math.hypot(*row) for row in torch.cat(list(network.head.weights)).tolist()]
    for label, row in zip((3, 4), rows, strict=True):
        total = torch.zeros(8, dtype=torch.float64)
        for place in (pool.labels == label).nonzero().flatten():
            feature = network(pool.test_view(place[None])).features[0].double()
            total += feature / feature.norm()
        expected = sum(lengths) / len(lengths) * total / total.norm()
        torch.testing.assert_close(row.double(), expected, rtol=1e-5, atol=1e-6)


def test_meeting_an_increment():
    """The teacher is the network before growth; old rows stay as they were, new are imprinted."""
    learner = made.learner()
    base = learner.meet(made.increment(0, 0, 3))
    assert base.teacher is None
    assert base.network.head.weights[0].abs().max() <= 1 / math.sqrt(8)
    network = base.network.train()
    network(torch.rand(9, 3, 8, 8))
    with torch.no_grad():
        network.head.weights[0].mul_(3)
        network.head.scale.fill_(2)
    old_rows = network.head.weights[0].clone()
    increment = made.increment(1, 3, 5)
    expected = imprinted(network, learner.pool(increment.train), range(3, 5))
    session = learner.meet(increment)

    assert session.teacher is not None
    assert session.teacher.head.classes == 3 and not session.teacher.training
    assert not any(parameter.requires_grad for parameter in session.teacher.parameters())
    assert torch.equal(session.network.head.weights[0], old_rows)
    assert torch.equal(session.network.head.weights[1], expected)
    assert session.network.head.scale.item() == 2


def second_session(tmp_path, **method):
    """Increment 1 with weight decay: the network, its weights before, and after every step."""
    chosen = {"name": "lucir", "less_forget": 5.0, **method}
    training = {"weight_decay": 0.1, "rate": 0.5}
    learner = made.learner({"method": chosen, "training": training})
    base = learner.meet(made.increment(0, 0, 3))
    made.fit(learner, base, tmp_path)
    learner.close(base)
    session = learner.meet(made.increment(1, 3, 5))
    start = {name: value.clone() for name, value in learner.network.state_dict().items()}
    return learner.network, start, made.fit(learner, session, tmp_path)


def changed(before, after):
    return {name for name, value in after.items() if not torch.equal(value, before[name])}


@pytest.mark.parametrize("held", [True, False])
def test_held_rows_stay_bit_identical_and_all_else_moves(held, tmp_path):
    network, start, _ = second_session(tmp_path, holds_old_rows=held)
    moved = changed(start, network.state_dict())
    assert moved == set(start) - ({"head.weights.0"} if held else set())


def test_balanced_finetune_trains_all_rows_and_nothing_else(tmp_path):
    start, states = second_session(tmp_path, finetune_epochs=3)[1:]
    main = [state["network"] for state in states if state["position"][0] == 0]
    balanced = [state["network"] for state in states if state["position"][0] == 1]
    assert "head.weights.0" not in changed(start, main[-1])
    assert changed(main[-1], balanced[-1]) == {"head.weights.0", "head.weights.1"}
    assert len(balanced) == 3 * math.ceil(5 * 2 / 8)  # epochs of 2 images of each of 5 classes


def test_balanced_finetune_as_published():
    """20 epochs at 0.01, a tenth of it from epoch 10, on the stored images of all classes."""
    session = made.session()
    main, balanced = Lucir(finetune_epochs=20).stages(session)
    rates = [balanced.training.rate_at(epoch, balanced.epochs) for epoch in range(20)]
    assert rates == pytest.approx([0.01] * 10 + [0.001] * 10)
    assert balanced.on_exemplars
    kept = Lucir().remember(session)
    assert kept.labels.bincount().tolist() == [2] * 5
    assert main.is_main and not balanced.is_main
    without = Lucir(finetune_epochs=20).stages(made.session(kept=0))
    assert [stage.name for stage in without] == ["main"]
