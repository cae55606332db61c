"""MER, momentum effect removal: prediction without the direction that momentum has built up.

While an increment is learned, h gathers the features of each batch as momentum would,
h <- 0.9 h + mean(x). Its direction carries the bias towards the newest classes. With b(h) the part
of the logits that comes from the projection of a feature on h, prediction sees

    z - alpha [ (1 - beta) b(h before) + beta b(h now) ].
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.core.settings import Fraction, settings
from remanence.effects.base import Effect, Lens, View
from remanence.heads import Head
from remanence.loader import Batch, Epoch, Pool
from remanence.network import Network, Output, evaluating
from remanence.session import Session

EPOCHS, RATE, DROP_AT, BATCH, LOSS_WEIGHT = 20, 0.002, 10, 128, 5.0
START_ALPHA, START_BETA = 0.5, 1.0
MOST_REMEMBERED = 2**28  # bytes of features


@settings
class Momentum(Effect):
    """Where alpha and beta come from, and how the two directions are mixed.

    values: learned (on all exemplars), constants, or auto: learned where there are exemplars.
    alpha, beta: the constants (the paper's at R = 0; the released evaluation has beta = 1).
    mix: projections (two projections mixed, official code) or direction (one mixed direction).
    first: in the first increment there is no earlier direction: product leaves its part out,
        so that alpha * beta acts; full sets beta to 1.
    base_direction: none, or accumulate it in the base increment too.
    decay: of the sum, SGD's momentum.
    through_finetune: go on gathering in later stages of a session.
    constrained: keep learned alpha at 0 or above and beta in 0..1.
    """

    values: Literal["auto", "learned", "constants"] = "auto"
    alpha: float = 0.5
    beta: float = 0.8
    mix: Literal["projections", "direction"] = "projections"
    first: Literal["product", "full"] = "product"
    base_direction: Literal["none", "accumulate"] = "none"
    decay: Fraction = 0.9
    through_finetune: bool = False
    constrained: bool = False

    @property
    def shapes_base(self) -> bool:
        return self.base_direction == "accumulate"

    def lens(self) -> Lens:
        return _MomentumLens(self)

    def variants(self) -> dict[str, Effect]:
        constants = dataclasses.replace(self, values="constants")
        others = {
            "constants": constants,
            "now": dataclasses.replace(constants, beta=1.0),
            "full": dataclasses.replace(constants, first="full"),
            "direction": dataclasses.replace(self, mix="direction"),
            "constants-direction": dataclasses.replace(constants, mix="direction"),
        }
        return {name: other for name, other in others.items() if other != self}


class _MomentumLens(Lens):
    learned: ClassVar[tuple[str, ...]] = ("trace", "before_h", "now_h", "alpha", "beta")

    def __init__(self, chosen: Momentum) -> None:
        self.chosen = chosen
        self.trace: Tensor | None = None
        self.before_h: Tensor | None = None
        self.now_h: Tensor | None = None
        self.alpha = 0.0
        self.beta = 0.0

    @property
    def captures(self) -> bool:
        return True

    def begin(self, session: Session) -> None:
        self.trace = None
        self.before_h, self.now_h = self.now_h, None

    def watch(self, out: Output, batch: Batch, session: Session) -> None:
        if session.teacher is None and self.chosen.base_direction == "none":
            return
        if batch.epoch.is_main or self.chosen.through_finetune:
            mean = out.features.detach().mean(0)
            if self.trace is None:
                self.trace = mean
            else:
                self.trace.mul_(self.chosen.decay).add_(mean)

    def settle(self, session: Session, kept: Pool, shown: View) -> None:
        self.now_h = None if self.trace is None else F.normalize(self.trace, dim=0)
        self.trace = None
        self.alpha, self.beta = self._constants()
        if session.teacher is None:
            self.alpha = 0.0
        elif self.chosen.values != "constants" and len(kept):
            self.alpha, self.beta = self._learn(session, kept, shown)

    def forward(self, out: Output, head: Head) -> Output:
        if self.alpha == 0.0 or self.now_h is None:
            return out
        bias = self._bias(out.features, head, (torch.tensor(self.alpha), torch.tensor(self.beta)))
        return dataclasses.replace(out, logits=out.logits - bias)

    def numbers(self) -> dict[str, float]:
        return {"alpha": self.alpha, "beta": self.beta}

    def _constants(self) -> tuple[float, float]:
        is_first = self.before_h is None
        beta = 1.0 if is_first and self.chosen.first == "full" else self.chosen.beta
        return self.chosen.alpha, beta

    def _bias(self, features: Tensor, head: Head, values: tuple[Tensor, Tensor]) -> Tensor:
        """What is to be taken from the logits, given alpha and beta."""
        assert self.now_h is not None
        alpha, beta = values
        parts = [(beta, self.now_h)]
        if self.before_h is not None:
            parts.append((1 - beta, self.before_h))
        if self.chosen.mix == "direction":
            mixed = torch.stack([share * direction for share, direction in parts]).sum(0)
            return head.taken(features, [(alpha, F.normalize(mixed, dim=0))])
        return head.taken(features, [(alpha * share, direction) for share, direction in parts])

    def _learn(self, session: Session, kept: Pool, shown: View) -> tuple[float, float]:
        """Fit alpha and beta on the kept images as training sees them, the network frozen."""
        values = torch.tensor([START_ALPHA, START_BETA], device=kept.device, requires_grad=True)
        optimiser = torch.optim.Adam([values], lr=RATE)
        head = session.network.head
        for number in range(EPOCHS):
            if number == DROP_AT:
                optimiser.param_groups[0]["lr"] = RATE / 10
            purpose = (session.increment, "momentum", number)
            epoch = Epoch(kept, kept.everything, BATCH, session.seed, purpose)
            features = _features(epoch, session.network)
            for part, seen in zip(epoch.order.split(BATCH), features.split(BATCH), strict=True):
                with evaluating(session.network):
                    out = shown(session.network.said(seen))
                bias = self._bias(out.features, head, (values[0], values[1]))
                loss = LOSS_WEIGHT * F.cross_entropy(out.logits - bias, kept.labels[part])
                optimiser.zero_grad()
                (values.grad,) = torch.autograd.grad(loss, [values])
                optimiser.step()
                self._constrain(values.data)
        return values[0].item(), values[1].item()

    def _constrain(self, values: Tensor) -> None:
        """Keep alpha and beta, in place, where the settings want them."""
        if self.chosen.constrained:
            values[0].clamp_(min=0)
            values[1].clamp_(0, 1)
        has_no_say = self.chosen.first == "full" or self.chosen.mix == "direction"
        if self.before_h is None and has_no_say:
            values[1] = START_BETA  # else the optimiser would follow rounding errors


def _features(epoch: Epoch, network: Network) -> Tensor:
    """Those of an epoch's views in its order; other forms of MER learn on the same ones."""
    remembered = epoch.pool.remembered
    if epoch.purpose in remembered:
        return remembered[epoch.purpose]
    with evaluating(network):
        features = torch.cat([network(batch.images).features for batch in epoch.batches()])
    if EPOCHS * features.nbytes <= MOST_REMEMBERED:
        remembered[epoch.purpose] = features
    return features
