"""MER on made features: a lens that has gathered given directions, and the bias by definition."""

import dataclasses

import made
import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.effects.base import Lens, View
from remanence.effects.momentum import Momentum
from remanence.heads import CosineHead, Head, LinearHead
from remanence.loader import Batch, Pool
from remanence.network import Output
from remanence.session import Session


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=made.random(seed), dtype=torch.float64)


def gather(lens: Lens, session: Session, features: Tensor, is_main: bool = True) -> None:
    """Let the lens watch a batch with these features."""
    batch = Batch(features, features, features, made.epoch(session.pool, is_main=is_main))
    lens.watch(Output(features.requires_grad_(), features, features), batch, session)


def as_is(out: Output) -> Output:
    return out


def settled(
    effect: Momentum, *directions: Tensor | None, kept: Pool | None = None, shown: View = as_is
) -> Lens:
    """A lens after one session for each direction, of which None stands for the base."""
    lens, kept = effect.lens(), made.pool([]) if kept is None else kept
    for direction in directions:
        session = made.session()
        if direction is None:
            session = dataclasses.replace(session, teacher=None, increment=0)
        lens.begin(session)
        if direction is not None:
            gather(lens, session, direction[None].clone())
        lens.settle(session, kept, shown)
    return lens


def bias_by_definition(head: Head, x: Tensor, h: Tensor) -> Tensor:
    """Code: scale cos(x, h) <w, h> with unit w and h: what the projection of a unit x says."""
    h = h / h.norm()
    if isinstance(head, LinearHead):
        return torch.outer(x @ h, torch.cat(list(head.weights)) @ h)
    assert isinstance(head, CosineHead)
    w = F.normalize(torch.cat(list(head.weights)))
    return head.scale * torch.outer(F.cosine_similarity(x, h[None]), w @ h)
