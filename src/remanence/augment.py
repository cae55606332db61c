"""Whole-batch augmentation: what is random is drawn first, so that a view can be made again.

The draws for a pool of images (shift, mirror, brightness) are a few bytes each. Neighbours of an
image can therefore be seen in the very view that they have in this epoch, and none is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from remanence.core.errors import SettingsError
from remanence.core.settings import nearest


@dataclass(frozen=True)
class Draws:
    """What chance decided for each of some images."""

    shift: Tensor
    mirror: Tensor
    brightness: Tensor

    def to(self, device: torch.device) -> Draws:
        """The same on a device."""
        return Draws(self.shift.to(device), self.mirror.to(device), self.brightness.to(device))

    def __getitem__(self, indices: Tensor) -> Draws:
        return Draws(self.shift[indices], self.mirror[indices], self.brightness[indices])


@dataclass(frozen=True)
class Augmentation:
    """How images are varied in training and normalised always.

    crops: whether photographs are decoded as random crops of random size; see `photographs`.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    pad: int = 4
    mirrors: bool = True
    brightness: float = 0.0
    subtracts_mean_image: bool = False
    crops: bool = False

    def draw(self, count: int, generator: torch.Generator) -> Draws:
        """Decide by chance how each of `count` images is to be seen."""
        shift = torch.randint(0, 2 * self.pad + 1, (count, 2), generator=generator)
        mirror = torch.rand(count, generator=generator) < (0.5 if self.mirrors else 0.0)
        swing = torch.rand(count, generator=generator) * 2 - 1
        return Draws(shift, mirror, 1 + self.brightness * swing)

    def train_view(self, pixels: Tensor, draws: Draws, mean_image: Tensor) -> Tensor:
        """Images (uint8, N x C x H x W) as training sees them: shifted, mirrored, normalised."""
        if self.subtracts_mean_image:
            return _crop(pixels / 255 - mean_image, draws, self.pad)
        moved = _crop(pixels, draws, self.pad)
        if self.brightness:
            factor = draws.brightness.to(moved.device).view(-1, 1, 1, 1)
            return self._normalise((moved / 255 * factor).clamp_(0, 1))
        return self._normalise(moved / 255)

    def test_view(self, pixels: Tensor, mean_image: Tensor) -> Tensor:
        """Images as prediction sees them: normalised only."""
        if self.subtracts_mean_image:
            return pixels / 255 - mean_image
        return self._normalise(pixels / 255)

    def _normalise(self, images: Tensor) -> Tensor:
        mean, std = _constants(self.mean, images.device), _constants(self.std, images.device)
        return images.sub_(mean).div_(std)


@cache
def _constants(values: tuple[float, ...], device: torch.device) -> Tensor:
    """One for each channel; sent to a GPU once, because sending waits for all that it has to do."""
    return torch.tensor(values, device=device).view(-1, 1, 1)


def _crop(pixels: Tensor, draws: Draws, pad: int) -> Tensor:
    """A crop of the zero-padded images at each one's shift, mirrored where drawn: one gather."""
    count, channels, height, width = pixels.shape
    if pad == 0:
        mirror = draws.mirror.to(pixels.device).view(-1, 1, 1, 1)
        return torch.where(mirror, pixels.flip(-1), pixels)
    padded = torch.nn.functional.pad(pixels, (pad, pad, pad, pad))
    shift, mirror = draws.shift.to(pixels.device), draws.mirror.to(pixels.device)
    rows = shift[:, :1] + torch.arange(height, device=pixels.device)
    columns = torch.arange(width, device=pixels.device).expand(count, width)
    columns = torch.where(mirror[:, None], width - 1 - columns, columns) + shift[:, 1:]
    places = rows[:, :, None] * padded.shape[3] + columns[:, None, :]
    flat = places.view(count, 1, -1).expand(-1, channels, -1)
    return padded.flatten(2).gather(2, flat).view(count, channels, height, width)


NAMED = {
    "digits": Augmentation(mean=(0.306,), std=(0.377,), pad=1, mirrors=False),
    "cifar_lucir": Augmentation(mean=(0.5071, 0.4866, 0.4409), std=(0.2009, 0.1984, 0.2023)),
    "cifar_pod": Augmentation(
        mean=(0.5071, 0.4867, 0.4408), std=(0.2675, 0.2565, 0.2761), brightness=63 / 255
    ),
    "cifar_tpcil": Augmentation(
        mean=(0.5071, 0.4866, 0.4409), std=(0.2009, 0.1984, 0.2023), brightness=63 / 255
    ),
    "imnet_lucir": Augmentation(
        mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), pad=0, crops=True
    ),
    "imnet_pod": Augmentation(
        mean=(0.485, 0.456, 0.406),
        std=(0.229, 0.224, 0.225),
        pad=0,
        brightness=63 / 255,
        crops=True,
    ),
    "imnet_shifted": Augmentation(
        mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), pad=2, mirrors=False
    ),
    "imnet_lite": Augmentation(mean=(127 / 255,) * 3, std=(128 / 255,) * 3, pad=0, crops=True),
    "cifar_icarl": Augmentation(mean=(0.0,) * 3, std=(1.0,) * 3, subtracts_mean_image=True),
}


def augmentation(name: str) -> Augmentation:
    """The augmentation of this name."""
    if name not in NAMED:
        raise SettingsError(f"training.augmentation: '{name}' is unknown{nearest(name, NAMED)}")
    return NAMED[name]
