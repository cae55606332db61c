"""ResNet-32 for 32 x 32 images as PODNet uses it: no ReLU after any addition, no convolution aside.

It follows the network of iCaRL's authors; the four maps that it shows are taken before any ReLU.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

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


@settings
class Resnet32Rebuffi(Backbone):
    """Three stages of five blocks, 16, 32 and 64 channels; shortcuts without parameters."""

    def build(self, channels: int) -> Trunk:
        return _Resnet32Rebuffi(channels)


class _Sampled(nn.Module):
    """The shortcut of option A: every second pixel, and zeros as the added channels."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.added = outputs - inputs

    def forward(self, images: Tensor) -> Tensor:
        sampled = images[..., :: self.stride, :: self.stride]
        return F.pad(sampled, (0, 0, 0, 0, 0, self.added))


class _Resnet32Rebuffi(Trunk):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.width = 64
        convolution = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.stem = ConvNorm(convolution, Norm(16, relu=True))
        self.stage1 = _stage(16, 16, 1, 5)
        self.stage2 = _stage(16, 32, 2, 5)
        self.stage3 = _stage(32, 64, 2, 4)
        self.last = _block(64, 64, 1)
        initialise(self)
        silence_residuals(self)

    def forward(self, images: Tensor) -> Seen:
        first = self.stage1(self.stem(images))
        second = self.stage2(first)
        third = self.stage3(second)
        last = self.last(third)
        return Seen(last.mean((2, 3)), (first, second, third, last))


def _block(inputs: int, outputs: int, stride: int) -> ResidualBlock:
    return ResidualBlock(inputs, outputs, stride, last_relu=False, shortcut=_Sampled)


def _stage(inputs: int, outputs: int, stride: int, blocks: int) -> nn.Sequential:
    rest = [_block(outputs, outputs, 1) for _ in range(blocks - 1)]
    return nn.Sequential(_block(inputs, outputs, stride), *rest)
