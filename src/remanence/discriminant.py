"""The linear discriminant of features, from sums that need no old image.

Of each class the number and the sum of its feature vectors are kept, and of all classes together
the sum of x x'. From these come the class means m and the covariance S within classes. With its
shrunk form S' = (1 - s) S + s (mean of its diagonal) I, a class is seen to say

    m' S'^-1 x  -  m' S'^-1 m / 2.

Sums do not care in which order classes come: on features that stay as they are, this is but for
rounding the classifier that all images at once would have given, and nothing is forgotten.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

SMALLEST_SHRINKAGE = 1e-4  # fewer images than features leave directions without any spread


class Sums(NamedTuple):
    """What is kept, in float64: of each class counts and sums, of all together products."""

    counts: Tensor
    sums: Tensor
    products: Tensor

    @classmethod
    def nothing(cls, width: int) -> Sums:
        """Before the first image; features are so long."""
        empty = torch.zeros(0, dtype=torch.float64)
        return cls(empty, torch.zeros(0, width).double(), torch.zeros(width, width).double())

    def plus(self, features: Tensor, labels: Tensor, classes: int) -> Sums:
        """With some more images, of old or new classes; there are so many classes by then."""
        features = features.double()
        member = F.one_hot(labels, classes).to(features)
        counts, sums = member.sum(0), member.T @ features
        counts[: len(self.counts)] += self.counts.to(counts)
        sums[: len(self.sums)] += self.sums.to(sums)
        return Sums(counts, sums, features.T @ features + self.products.to(features))

    def rows(self, shrinkage: float) -> tuple[Tensor, Tensor]:
        """Weight and bias of the discriminant, in float32."""
        means = self.sums / self.counts[:, None]
        freedom = (self.counts.sum() - len(self.counts)).clamp(min=1)
        within = (self.products - self.sums.T @ means) / freedom
        size = within.diagonal().mean().clamp(min=torch.finfo(torch.float32).eps)
        sphere = size * torch.eye(len(within), dtype=within.dtype, device=within.device)
        shrunk = torch.lerp(within, sphere, max(shrinkage, SMALLEST_SHRINKAGE))
        weight = torch.linalg.solve(shrunk, means.T).T
        return weight.float(), -(weight * means).sum(1).float() / 2
