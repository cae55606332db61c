"""A small network for images of 8 x 8 pixels, with signed features."""

from __future__ import annotations

from torch import Tensor, nn

from remanence.backbones.base import Backbone, Seen, Trunk, initialise
from remanence.core.settings import AtLeastOne, settings


@settings
class Convnet(Backbone):
    """Three convolutions; `width` channels in the last and half of them before."""

    width: AtLeastOne = 64

    def build(self, channels: int) -> Trunk:
        return _Convnet(channels, self.width)


class _Convnet(Trunk):
    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.width = width
        half = max(1, width // 2)
        self.stem = nn.Sequential(_convolution(channels, half), nn.ReLU())
        self.middle = nn.Sequential(_convolution(half, half), nn.ReLU(), nn.MaxPool2d(2))
        self.last = _convolution(half, width)
        initialise(self)

    def forward(self, images: Tensor) -> Seen:
        middle = self.middle(self.stem(images))
        last = self.last(middle)
        return Seen(last.mean((2, 3)), (middle, last))


def _convolution(inputs: int, outputs: int) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))
