"""What a reading says, as one matrix, where it is one.

A cosine head with MER says s (w - sum_i a_i <w, h_i> h_i) . x / |x| of a feature x: the removal of
directions h_i is linear in the unit vector, and goes into the rows. So do a linear head, nearest
means and the discriminant. Nobody has to say how: a function that is affine in what a transform
makes of features is known by what it says of zero and of each unit vector, and whether it is affine
shows on features that were not asked about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.core import seeds
from remanence.model.classifier import TRANSFORMS
from remanence.model.description import Transform

TRIED, TOLERANCE = 64, 1e-4  # of the largest logit

Said = Callable[[Tensor], Tensor]


class Affine(NamedTuple):
    """Logits are weight . transform(features) + bias."""

    transform: Transform
    weight: Tensor
    bias: Tensor

    def logits(self, features: Tensor) -> Tensor:
        """What it says."""
        return F.linear(TRANSFORMS[self.transform](features), self.weight, self.bias)


def affine(said: Said, width: int, device: torch.device) -> Affine | None:
    """What is said of features of this width, as a matrix; None where it is none."""
    origin, axes = torch.zeros(1, width, device=device), torch.eye(width, device=device)
    bias = said(origin)
    weight = (said(axes) - bias).T
    tried = _features(width).to(device)
    for transform in TRANSFORMS:
        found = Affine(transform, weight, bias[0])
        if _agree(said(tried), found.logits(tried)):
            return found
    return None


def _features(width: int) -> Tensor:
    """Features of many lengths; some of them have no negative component."""
    chance = seeds.generator(0, "tried features", width)
    features = torch.randn(TRIED, width, generator=chance)
    features[::2] = features[::2].abs()
    return features * torch.logspace(-1, 1.5, TRIED)[:, None]


def _agree(one: Tensor, other: Tensor) -> bool:
    return bool((one - other).abs().max() <= TOLERANCE * one.abs().max().clamp(min=1))
