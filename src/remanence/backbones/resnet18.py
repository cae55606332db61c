"""ResNet-18 for photographs as LUCIR and DDE use it: no ReLU at the end, signed features."""

from __future__ import annotations

from torch import Tensor, nn

from remanence.backbones.base import (
    Backbone,
    ResidualBlock,
    Seen,
    Trunk,
    initialise,
    with_filter_scales,
)
from remanence.core.settings import settings
from remanence.kernels.norm import ConvNorm, Norm

WIDTHS = (64, 128, 256, 512)


@settings
class Resnet18(Backbone):
    """Four stages of two blocks, 64 to 512 channels, after a stem that divides each side by four.

    last_relu: end with the usual ReLU, so that no feature is negative.
    filter_scales: see resnet32.
    """

    last_relu: bool = False
    filter_scales: bool = False

    def build(self, channels: int) -> Trunk:
        trunk = _Resnet18(channels, self.last_relu)
        return with_filter_scales(trunk) if self.filter_scales else trunk


class _Resnet18(Trunk):
    def __init__(self, channels: int, last_relu: bool) -> None:
        super().__init__()
        self.width = WIDTHS[-1]
        convolution = nn.Conv2d(channels, WIDTHS[0], 7, 2, padding=3, bias=False)
        norm, pool = Norm(WIDTHS[0], relu=True), nn.MaxPool2d(3, 2, padding=1)
        self.stem = ConvNorm(convolution, norm, pool)
        self.stages = nn.ModuleList()
        for before, width in zip((WIDTHS[0], *WIDTHS), WIDTHS, strict=False):
            ends_with_relu = last_relu or width != WIDTHS[-1]
            first = ResidualBlock(before, width, 1 if before == width else 2, True)
            self.stages.append(nn.Sequential(first, ResidualBlock(width, width, 1, ends_with_relu)))
        initialise(self)

    def forward(self, images: Tensor) -> Seen:
        seen, maps = self.stem(images), []
        for stage in self.stages:
            seen = stage(seen)
            maps.append(seen)
        return Seen(seen.mean((2, 3)), tuple(maps))
