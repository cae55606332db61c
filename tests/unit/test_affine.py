"""A reading as one matrix: MER goes into the rows of the head, exactly; what is none is refused."""

from __future__ import annotations

import pytest
import torch
from made_momentum import settled
from torch import Tensor
from torch.nn import functional as F

from remanence.effects.discriminant import DiscriminantLens
from remanence.effects.momentum import Momentum
from remanence.exporting.affine import affine
from remanence.heads import CorrectedHead, CosineHead, Head, LinearHead, ProxyHead
from remanence.network import Output

WIDTH, CPU = 8, torch.device("cpu")
ALPHA, BETA = 0.7, 0.6


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def grown(head: Head) -> Head:
    """Three classes, then two."""
    for seed, classes in enumerate((3, 2)):
        head.grow(random(*head.fresh_rows(classes).shape, seed=seed))
    for number, parameter in enumerate(head.parameters()):
        if parameter.ndim == 0:
            parameter.data.fill_(1.5 + number)
    return head


def reading(head: Head, mix: str, first_only: bool = False) -> tuple[object, list]:
    """What MER shows of features, and the shares and directions that it removes."""
    effect = Momentum(values="constants", alpha=ALPHA, beta=BETA, mix=mix)
    before, now = (F.normalize(random(WIDTH, seed=seed), dim=0) for seed in (5, 6))
    lens = settled(effect, *([None, now] if first_only else [None, before, now]))
    parts = [(BETA, now)] if first_only else [(BETA, now), (1 - BETA, before)]
    if mix == "direction":
        mixed = sum(share * way for share, way in parts)
        parts = [(1.0, mixed / mixed.norm())]

    def said(features: Tensor) -> Tensor:
        with torch.no_grad():
            verdict = head(features)
            out = Output(features, verdict.logits, verdict.scores)
            return lens.forward(out, head).logits

    return said, parts


@pytest.mark.parametrize("first_only", [False, True])
@pytest.mark.parametrize("mix", ["projections", "direction"])
def test_the_rows_of_a_cosine_head_lose_their_part_along_each_direction(
    mix: str, first_only: bool
) -> None:
    """z' = s w.u - alpha sum_i a_i s (u.h_i)(w.h_i) = s (w - alpha sum_i a_i (w.h_i) h_i) . u"""
    head = grown(CosineHead(WIDTH))
    said, parts = reading(head, mix, first_only)
    unit = F.normalize(head.weights.whole().detach())
    removed = sum(share * torch.outer(unit @ way, way) for share, way in parts)
    expected = head.scale.detach() * (unit - ALPHA * removed)
    found = affine(said, WIDTH, CPU)
    assert found is not None
    assert found.transform == "unit"
    torch.testing.assert_close(found.weight, expected)
    torch.testing.assert_close(found.bias, torch.zeros(5))


@pytest.mark.parametrize("mix", ["projections", "direction"])
@pytest.mark.parametrize("kind", [LinearHead, CorrectedHead])
def test_the_bias_of_a_linear_head_stays_and_its_rows_lose_the_same(
    kind: type[LinearHead], mix: str
) -> None:
    head = grown(kind(WIDTH))
    said, parts = reading(head, mix)
    rows, bias = head.weights.whole().detach(), head.biases.whole().detach()
    rows = rows - ALPHA * sum(share * torch.outer(rows @ way, way) for share, way in parts)
    if isinstance(head, CorrectedHead):
        beta, gamma = head.beta.item(), head.gamma.item()
        factor = torch.tensor([1, 1, 1, beta, beta])
        rows, bias = factor[:, None] * rows, factor * bias + torch.tensor([0, 0, 0, gamma, gamma])
    found = affine(said, WIDTH, CPU)
    assert found is not None
    assert found.transform == "none"
    torch.testing.assert_close(found.weight, rows)
    torch.testing.assert_close(found.bias, bias)


def test_the_discriminant_is_a_matrix_of_rooted_features() -> None:
    lens = DiscriminantLens(0.5)
    lens.add(F.normalize(random(40, WIDTH, seed=1)), torch.arange(40) % 4, 4)

    def said(features: Tensor) -> Tensor:
        return lens.forward(Output(features, features, features), LinearHead(WIDTH)).logits

    found = affine(said, WIDTH, CPU)
    assert found is not None
    assert found.transform == "rooted"
    features = random(20, WIDTH, seed=2)
    torch.testing.assert_close(found.logits(features), said(features), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("removal", ["linear", "own_attention", "rerun"])
def test_several_proxies_are_no_matrix(removal: str) -> None:
    said, _ = reading(grown(ProxyHead(WIDTH, 4, removal=removal)), "projections")
    assert affine(said, WIDTH, CPU) is None


def test_what_is_nearly_affine_is_not() -> None:
    weight = random(3, WIDTH, seed=0)
    assert affine(lambda x: x @ weight.T, WIDTH, CPU) is not None
    assert affine(lambda x: x @ weight.T + 1e-2 * x[:, :1].abs(), WIDTH, CPU) is None
    assert affine(lambda x: x @ weight.T + 1e-2 * (x * x).sum(1, True), WIDTH, CPU) is None
