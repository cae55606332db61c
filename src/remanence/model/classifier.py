"""The network of a model as prediction needs it: a trunk, a transform, one matrix.

Whatever learned it, it comes to this. A linear or cosine head, nearest means, the discriminant, and
the removal of a direction (MER) are all affine in the features or in their unit vectors.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Protocol, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remanence.backbones.base import Trunk
from remanence.features import rooted
from remanence.model.description import Transform


class Normalisation(Protocol):
    """What is taken from pixels in 0..1 and what divides them then, for each channel."""

    @property
    def mean(self) -> tuple[float, ...]: ...

    @property
    def std(self) -> tuple[float, ...]: ...


def unchanged(features: Tensor) -> Tensor:
    """The features themselves."""
    return features


TRANSFORMS: Mapping[Transform, Callable[[Tensor], Tensor]] = {
    "none": unchanged,
    "unit": F.normalize,
    "rooted": rooted,
}


class Classifier(nn.Module):
    """Pixels to probabilities; the normalisation is inside.

    forward takes uint8 or float pixels in 0..255, N x 3 x side x side.
    """

    mean: Tensor
    std: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(
        self, trunk: Trunk, normalisation: Normalisation, transform: Transform, classes: int
    ) -> None:
        super().__init__()
        self.trunk = trunk.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.transform = transform
        self.temperature = 1.0
        for name in ("mean", "std"):
            values = torch.tensor(getattr(normalisation, name)).view(-1, 1, 1)
            self.register_buffer(name, values, persistent=False)
        self.register_buffer("weight", torch.zeros(classes, trunk.width))
        self.register_buffer("bias", torch.zeros(classes))

    def features(self, pixels: Tensor) -> Tensor:
        """What the trunk makes of pixels: pooled, raw."""
        seen: Tensor = self.trunk((pixels / 255 - self.mean) / self.std).features
        return seen

    def logits(self, features: Tensor) -> Tensor:
        """Calibrated logits: their softmax are probabilities."""
        known = TRANSFORMS[self.transform](features)
        return F.linear(known, self.weight, self.bias) / self.temperature

    def folded(self) -> Self:
        """The same with the temperature in its matrix."""
        same = copy.deepcopy(self)
        same.weight, same.bias = self.weight / self.temperature, self.bias / self.temperature
        same.temperature = 1.0
        return same

    def forward(self, pixels: Tensor) -> Tensor:
        return self.logits(self.features(pixels)).softmax(1)
