"""ResNet-32 for 32 x 32 images as LUCIR and DDE use it: no ReLU at the end, signed features."""

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

BLOCKS_PER_STAGE = 5


@settings
class Resnet32(Backbone):
    """Three stages of five blocks, 16, 32 and 64 channels, 1 x 1 convolutions as shortcuts.

    last_relu: end with the usual ReLU, so that no feature is negative.
    filter_scales: after the base, hold the filters and learn one factor for each of them and each
        channel that it sees (the weight transfer of Mnemonics).
    """

    last_relu: bool = False
    filter_scales: bool = False

    def build(self, channels: int) -> Trunk:
        trunk = _Resnet32(channels, self.last_relu)
        return with_filter_scales(trunk) if self.filter_scales else trunk


class _Resnet32(Trunk):
    def __init__(self, channels: int, last_relu: bool) -> None:
        super().__init__()
        self.width = 64
        convolution = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.stem = ConvNorm(convolution, Norm(16, relu=True))
        self.stage1 = _stage(16, 16, 1, True)
        self.stage2 = _stage(16, 32, 2, True)
        self.stage3 = _stage(32, 64, 2, last_relu)
        initialise(self)

    def forward(self, images: Tensor) -> Seen:
        first = self.stage1(self.stem(images))
        second = self.stage2(first)
        third = self.stage3(second)
        return Seen(third.mean((2, 3)), (first, second, third))


def _stage(inputs: int, outputs: int, stride: int, last_relu: bool) -> nn.Sequential:
    blocks = [ResidualBlock(inputs, outputs, stride, True)]
    blocks += [ResidualBlock(outputs, outputs, 1, True) for _ in range(BLOCKS_PER_STAGE - 2)]
    return nn.Sequential(*blocks, ResidualBlock(outputs, outputs, 1, last_relu))
