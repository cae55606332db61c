"""What a backbone must give: images in, one feature vector each out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from torch import Tensor, nn

from remanence.core.settings import Choice, settings


@dataclass(frozen=True)
class Seen:
    """Pooled features, and the maps of the stages below for methods that compare them."""

    features: Tensor
    maps: tuple[Tensor, ...] = ()


class Trunk(nn.Module):
    """A feature extractor; `width` is the length of its feature vectors."""

    width: int

    @abstractmethod
    def forward(self, images: Tensor) -> Seen: ...


@settings
class Backbone(Choice):
    """Settings of a feature extractor."""

    @abstractmethod
    def build(self, channels: int) -> Trunk:
        """A new one with random weights, for images of so many channels."""


def initialise(trunk: nn.Module) -> None:
    """He initialisation of the convolutions; batch norm starts as the identity."""
    for module in trunk.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


BASE = Backbone
