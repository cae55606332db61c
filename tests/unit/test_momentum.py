"""MER: gathering the direction of momentum, and taking it from the logits."""

import dataclasses

import made
import pytest
import torch
from made_momentum import as_is, bias_by_definition, gather, noise, settled
from torch.nn import functional as F

from remanence.effects.momentum import Momentum
from remanence.heads import CosineHead, LinearHead
from remanence.network import Output

PAPER, CODE = Momentum(values="constants", mix="direction"), Momentum(values="constants")


def head_of(kind=CosineHead):
    """Five classes in float64; the cosine head with a scale of 3."""
    head = made.network(3, 2, head=kind).head.double()
    if kind is CosineHead:
        head.scale.data.fill_(3.0)
    return head


def says(head, features):
    verdict = head(features)
    return Output(features, verdict.logits, verdict.scores)


def paper_by_definition(head, x, before, now, beta):
    """Paper: project x on the one mixed direction, then score w with x's own length."""
    h = (1 - beta) * before / before.norm() + beta * now / now.norm()
    projected = (x @ h / h.norm() ** 2)[:, None] * h
    w = F.normalize(torch.cat(list(head.weights)))
    return head.scale * (projected @ w.T) / x.norm(dim=1, keepdim=True)


def assert_seen(lens, head, x, expected_logits):
    out = says(head, x)
    seen = lens.forward(out, head)
    torch.testing.assert_close(seen.logits, expected_logits, rtol=1e-6, atol=1e-6)
    assert torch.equal(seen.features, out.features)


# The direction


@pytest.mark.parametrize("decay", [0.9, 0.5])
def test_h_gathers_batch_means_as_momentum_does(decay):
    """h <- 0.9 h + mean(x), raw features, the last and smaller batch too, then its direction."""
    lens, session = Momentum(decay=decay, values="constants").lens(), made.session()
    lens.begin(session)
    h = torch.zeros(8, dtype=torch.float64)
    for number, size in enumerate([5, 5, 2, 5, 5, 2]):
        features = noise(size, 8, seed=number) + 1
        h = decay * h + sum(features) / size
        gather(lens, session, features)
    lens.settle(session, made.pool([]), as_is)
    torch.testing.assert_close(lens.now_h, h / h.norm())
    assert not lens.now_h.requires_grad


def test_h_starts_anew_in_every_session_and_the_last_two_are_kept():
    lens = settled(CODE, noise(8, seed=1), noise(8, seed=2), noise(8, seed=3))
    torch.testing.assert_close(lens.before_h, F.normalize(noise(8, seed=2), dim=0))
    torch.testing.assert_close(lens.now_h, F.normalize(noise(8, seed=3), dim=0))


@pytest.mark.parametrize("through_finetune", [False, True])
def test_the_balanced_finetune_is_gathered_on_demand_only(through_finetune):
    lens, session = Momentum(through_finetune=through_finetune).lens(), made.session()
    first, second = noise(4, 8, seed=1), noise(4, 8, seed=2)
    lens.begin(session)
    gather(lens, session, first)
    gather(lens, session, second, is_main=False)
    lens.settle(session, made.pool([]), as_is)
    h = 0.9 * first.mean(0) + second.mean(0) if through_finetune else first.mean(0)
    torch.testing.assert_close(lens.now_h, F.normalize(h, dim=0))


@pytest.mark.parametrize("base_direction", ["none", "accumulate"])
def test_the_base_is_never_corrected_and_its_direction_is_kept_on_demand(base_direction):
    effect = dataclasses.replace(CODE, base_direction=base_direction)
    assert effect.shapes_base == (base_direction == "accumulate")
    session, lens, head = made.session(), effect.lens(), head_of()
    base = dataclasses.replace(session, teacher=None, increment=0)
    lens.begin(base)
    gather(lens, base, noise(4, 8, seed=1))
    lens.settle(base, made.pool([0, 1]), as_is)
    out = says(head, noise(6, 8))
    assert torch.equal(lens.forward(out, head).logits, out.logits)
    lens.begin(session)
    if base_direction == "none":
        assert lens.before_h is None
    else:
        torch.testing.assert_close(lens.before_h, F.normalize(noise(4, 8, seed=1).mean(0), dim=0))


@pytest.mark.parametrize("others", [{}, {"colliding": {"source": "fresh", "neighbours": 9}}])
def test_in_training_every_batch_of_every_epoch_is_gathered_but_no_neighbour(others, tmp_path):
    effects = {**others, "momentum": {"values": "constants"}}
    learner = made.learner({"effects": effects, "memory": {"per_class": 1}})
    base = learner.meet(made.increment(0, 0, 3))
    made.fit(learner, base, tmp_path)
    learner.close(base)
    session, means = learner.meet(made.increment(1, 3, 5)), []

    def note(module, images, seen):
        if module.training and len(seen.features) <= 8:  # neighbours come in batches of 9 and more
            means.append(seen.features.detach().mean(0))

    session.network.trunk.register_forward_hook(note)
    made.fit(learner, session, tmp_path)
    learner.close(session)
    assert len(means) == 2 * 2  # two epochs of 12 new images and 3 exemplars
    h = torch.zeros(8)
    for mean in means:
        h = 0.9 * h + mean
    torch.testing.assert_close(learner.lenses.readings["cnn+momentum"][0].now_h, h / h.norm())


# The correction


@pytest.mark.parametrize("mix", ["projections", "direction"])
@pytest.mark.parametrize("kind", [CosineHead, LinearHead])
def test_alpha_of_zero_changes_nothing(kind, mix):
    effect, head = Momentum(values="constants", alpha=0.0, mix=mix), head_of(kind)
    x = noise(6, 8)
    lens = settled(effect, noise(8, seed=1), noise(8, seed=2))
    assert torch.equal(lens.forward(says(head, x), head).logits, says(head, x).logits)


@pytest.mark.parametrize("mix", ["projections", "direction"])
def test_a_feature_along_h_keeps_a_share_of_one_minus_alpha(mix):
    effect, head = Momentum(values="constants", alpha=0.3, beta=1.0, mix=mix), head_of()
    h = noise(8, seed=1)
    x = torch.stack([h, -2 * h])
    assert_seen(settled(effect, noise(8, seed=2), h), head, x, 0.7 * says(head, x).logits)


def test_along_h_a_linear_head_keeps_all_of_its_biases():
    effect, head = Momentum(values="constants", alpha=0.3, beta=1.0), head_of(LinearHead)
    h = noise(8, seed=1)
    biases = torch.cat(list(head.biases))
    expected = 0.7 * (says(head, h[None]).logits - biases) + biases
    assert_seen(settled(effect, noise(8, seed=2), h), head, h[None], expected)


@pytest.mark.parametrize("mix", ["projections", "direction"])
@pytest.mark.parametrize("kind", [CosineHead, LinearHead])
def test_a_feature_across_both_directions_is_left_alone(kind, mix):
    effect, head = dataclasses.replace(CODE, mix=mix), head_of(kind)
    lens, x = settled(effect, noise(8, seed=1), noise(8, seed=2)), noise(6, 8)
    plane = torch.linalg.qr(torch.stack([noise(8, seed=1), noise(8, seed=2)], 1)).Q
    across = x - x @ plane @ plane.T
    assert_seen(lens, head, across, says(head, across).logits)


@pytest.mark.parametrize("kind", [CosineHead, LinearHead])
def test_code_by_definition(kind):
    """z - alpha [(1 - beta) b(h before) + beta b(h now)] with 0.5 and 0.8, of every class."""
    head, x, before, now = head_of(kind), noise(6, 8), noise(8, seed=1), noise(8, seed=2)
    bias = 0.2 * bias_by_definition(head, x, before) + 0.8 * bias_by_definition(head, x, now)
    assert_seen(settled(CODE, before, now), head, x, says(head, x).logits - 0.5 * bias)


def test_paper_by_definition():
    head, x, before, now = head_of(), noise(6, 8), noise(8, seed=1), noise(8, seed=2)
    bias = paper_by_definition(head, x, before, now, 0.8)
    assert_seen(settled(PAPER, before, now), head, x, says(head, x).logits - 0.5 * bias)
    code = settled(CODE, before, now).forward(says(head, x), head).logits
    assert not torch.allclose(code, says(head, x).logits - 0.5 * bias, atol=0.01)


def test_code_and_paper_agree_when_the_directions_do():
    head, x, h = head_of(), noise(6, 8), noise(8, seed=1)
    paper = settled(PAPER, 2 * h, h).forward(says(head, x), head)
    assert_seen(settled(CODE, 2 * h, h), head, x, paper.logits)


@pytest.mark.parametrize(("first", "share"), [("product", 0.5 * 0.8), ("full", 0.5)])
def test_without_an_earlier_direction_alpha_and_beta_are_one_product(first, share):
    head, x, h = head_of(), noise(6, 8), noise(8, seed=1)
    lens = settled(dataclasses.replace(CODE, first=first), None, h)
    expected = says(head, x).logits - share * bias_by_definition(head, x, h)
    assert_seen(lens, head, x, expected)


def test_first_is_about_the_first_increment_only():
    head, x, h = head_of(), noise(6, 8), [noise(8, seed=1), noise(8, seed=2)]
    seen = [
        settled(dataclasses.replace(CODE, first=first), *h).forward(says(head, x), head).logits
        for first in ("product", "full")
    ]
    assert torch.equal(*seen)
