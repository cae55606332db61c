"""ResNet-18 for photographs as PODNet uses it: a stem of 3 x 3 at full size, 3.8 times as dear.

Each stage ends without a ReLU, and the four maps that it shows are taken there.
"""

from __future__ import annotations

from torch import Tensor, nn

from remanence.backbones.base import (
    Backbone,
    ResidualBlock,
    Seen,
    Trunk,
    initialise,
    silence_residuals,
)
from remanence.core.settings import settings
from remanence.kernels.norm import ConvNorm, Norm

WIDTHS = (64, 128, 256, 512)


@settings
class Resnet18Pod(Backbone):
    """Four stages of two blocks, 64 to 512 channels, 1 x 1 convolutions as shortcuts."""

    def build(self, channels: int) -> Trunk:
        return _Resnet18Pod(channels)


class _Resnet18Pod(Trunk):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.width = WIDTHS[-1]
        convolution = nn.Conv2d(channels, WIDTHS[0], 3, padding=1, bias=False)
        norm, pool = Norm(WIDTHS[0], relu=True), nn.MaxPool2d(3, 2, padding=1)
        self.stem = ConvNorm(convolution, norm, pool)
        before = (WIDTHS[0], *WIDTHS[:-1])
        self.stages = nn.ModuleList(map(_stage, before, WIDTHS))
        initialise(self)
        silence_residuals(self)

    def forward(self, images: Tensor) -> Seen:
        seen, maps = self.stem(images), []
        for stage in self.stages:
            seen = stage(seen)
            maps.append(seen)
        return Seen(seen.mean((2, 3)), tuple(maps))


def _stage(inputs: int, outputs: int) -> nn.Sequential:
    stride = 1 if inputs == outputs else 2
    first = ResidualBlock(inputs, outputs, stride, last_relu=True)
    return nn.Sequential(first, ResidualBlock(outputs, outputs, 1, last_relu=False))
