"""Prediction by the linear discriminant of the features, from statistics that need no old image.

Of each class the number and the sum of its feature vectors are kept, and of all classes together
the sum of x x'. From these come the class means m and the covariance S within classes. With its
shrunk form S' = (1 - s) S + s (mean of its diagonal) I, a class is seen to say

    m' S'^-1 x  -  m' S'^-1 m / 2.

Sums do not care in which order classes come: while the trunk stays as it is, this is bit for bit
near the classifier that all images at once would have given, and nothing is forgotten. What is kept
are sums, not images; a trunk that moves makes those of old classes stale.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.core.settings import Fraction, settings
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
        features = rooted(pool.outputs(session.network, news).features).double()
        self.add(features, pool.labels[news], session.classes)

    def add(self, features: Tensor, labels: Tensor, classes: int) -> None:
        """Add rooted features to the sums, and let the rows follow."""
        member = F.one_hot(labels, classes).to(features)
        counts, sums = member.sum(0), member.T @ features
        products = features.T @ features
        if self.counts is not None and self.sums is not None and self.products is not None:
            counts[: len(self.counts)] += self.counts
            sums[: len(self.sums)] += self.sums
            products += self.products
        self.counts, self.sums, self.products = counts, sums, products
        self.weight, self.bias = rows(counts, sums, products, self.shrinkage)

    def forward(self, out: Output, head: Head) -> Output:
        assert self.weight is not None and self.bias is not None
        logits = F.linear(rooted(out.features), self.weight, self.bias)
        return dataclasses.replace(out, logits=logits, scores=logits)


def rows(counts: Tensor, sums: Tensor, products: Tensor, shrinkage: float) -> tuple[Tensor, Tensor]:
    """Weight and bias of the discriminant, in float32, from sums in float64."""
    means = sums / counts[:, None]
    freedom = (counts.sum() - len(counts)).clamp(min=1)
    within = (products - sums.T @ means) / freedom
    size = within.diagonal().mean().clamp(min=torch.finfo(torch.float32).eps)
    sphere = size * torch.eye(len(within), dtype=within.dtype, device=within.device)
    # A little sphere always: fewer images than features leave directions without any spread.
    shrunk = torch.lerp(within, sphere, max(shrinkage, 1e-4))
    weight = torch.linalg.solve(shrunk, means.T).T
    return weight.float(), -(weight * means).sum(1).float() / 2
