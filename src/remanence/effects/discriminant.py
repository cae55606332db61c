"""Prediction by the linear discriminant of the features, from statistics that need no old image.

What is kept are sums, not images (see `remanence.discriminant`); a trunk that moves makes those of
old classes stale.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from torch import Tensor
from torch.nn import functional as F

from remanence.core.settings import Fraction, settings
from remanence.discriminant import Sums
from remanence.effects.base import Effect, Lens, View
from remanence.features import rooted
from remanence.heads import Head
from remanence.loader import Pool
from remanence.network import Output
from remanence.session import Session


@settings
class Discriminant(Effect):
    """Each class is a mean; all share one covariance.

    shrinkage: how much of the covariance is replaced by a sphere of its size.
    """

    replaces_logits: ClassVar[bool] = True

    shrinkage: Fraction = 0.5

    def lens(self) -> Lens:
        return DiscriminantLens(self.shrinkage)


class DiscriminantLens(Lens):
    """The sums, and the rows that follow from them."""

    learned: ClassVar[tuple[str, ...]] = ("counts", "sums", "products", "weight", "bias")

    def __init__(self, shrinkage: float) -> None:
        self.shrinkage = shrinkage
        self.counts: Tensor | None = None
        self.sums: Tensor | None = None
        self.products: Tensor | None = None
        self.weight: Tensor | None = None
        self.bias: Tensor | None = None

    @property
    def captures(self) -> bool:
        return True

    @property
    def ready(self) -> bool:
        return self.weight is not None

    def settle(self, session: Session, kept: Pool, shown: View) -> None:
        """Add the new images to the sums; they may be of old classes too."""
        pool = session.pool
        news = pool.everything[: pool.new_count]
        features = rooted(pool.outputs(session.network, news).features)
        self.add(features, pool.labels[news], session.classes)

    def add(self, features: Tensor, labels: Tensor, classes: int) -> None:
        """Add rooted features to the sums, and let the rows follow."""
        sums = self._so_far(features.shape[1]).plus(features, labels, classes)
        self.counts, self.sums, self.products = sums
        self.weight, self.bias = sums.rows(self.shrinkage)

    def _so_far(self, width: int) -> Sums:
        if self.counts is None or self.sums is None or self.products is None:
            return Sums.nothing(width)
        return Sums(self.counts, self.sums, self.products)

    def forward(self, out: Output, head: Head) -> Output:
        assert self.weight is not None and self.bias is not None
        logits = F.linear(rooted(out.features), self.weight, self.bias)
        return dataclasses.replace(out, logits=logits, scores=logits)
