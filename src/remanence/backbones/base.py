"""What a backbone must give: images in, one feature vector each out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from remanence.core.settings import Choice, settings
from remanence.kernels.norm import ConvNorm, Norm


@dataclass(frozen=True)
class Seen:
    """Pooled features, and the maps of the stages below for methods that compare them."""

    features: Tensor
    maps: tuple[Tensor, ...] = ()


class Trunk(nn.Module):
    """A feature extractor; `width` is the length of its feature vectors.

    pretrained: whether it has learned from other images before.
    """

    width: int
    pretrained: bool = False

    @abstractmethod
    def forward(self, images: Tensor) -> Seen: ...

    def after_base(self) -> None:
        """The base is learned: filters with scales are held from now on, and the scales move."""
        for name, parameter in self.named_parameters():
            if ".parametrizations.weight." in name:
                parameter.requires_grad_(name.endswith(".scale"))


@settings
class Backbone(Choice):
    """Settings of a feature extractor.

    augmentation: the one it was trained with elsewhere, by name, if it must see images like that.
    """

    augmentation: ClassVar[str | None] = None

    @abstractmethod
    def build(self, channels: int) -> Trunk:
        """A new one, for images of so many channels."""

    def bare(self) -> Self:
        """The same, to be filled with weights that were saved."""
        return self


def projection(inputs: int, outputs: int, stride: int) -> nn.Module:
    """The shortcut past a block that changes the shape: a 1 x 1 convolution (option B)."""
    convolution = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
    return ConvNorm(convolution, Norm(outputs))


class ResidualBlock(nn.Module):
    """Two 3 x 3 convolutions and a shortcut past them; `last_relu` ends it with a ReLU."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        stride: int,
        last_relu: bool,
        shortcut: Callable[[int, int, int], nn.Module] = projection,
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = Norm(outputs, relu=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = Norm(outputs, relu=last_relu)
        changes = inputs != outputs
        self.shortcut = shortcut(inputs, outputs, stride) if changes else nn.Sequential()

    def forward(self, images: Tensor) -> Tensor:
        inside = self.bn1.after(self.conv1, images)
        return self.bn2.after(self.conv2, inside, self.shortcut(images))


def initialise(trunk: nn.Module) -> None:
    """He initialisation of the convolutions; batch norm starts as the identity."""
    for module in trunk.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


def silence_residuals(trunk: nn.Module) -> None:
    """Every residual block starts as its shortcut alone."""
    for module in trunk.modules():
        if isinstance(module, ResidualBlock):
            nn.init.zeros_(module.bn2.weight)


class FilterScale(nn.Module):
    """A factor for each filter of a convolution and each channel it sees; held at 1 in the base."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(*weight.shape[:2], 1, 1), requires_grad=False)

    def forward(self, weight: Tensor) -> Tensor:
        return self.scale * weight


def with_filter_scales(trunk: Trunk) -> Trunk:
    """The trunk, with scales on the filters of all its convolutions."""
    for module in list(trunk.modules()):
        if isinstance(module, nn.Conv2d):
            parametrize.register_parametrization(module, "weight", FilterScale(module.weight))
    return trunk


BASE = Backbone
