"""What a source of images must give."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import torch
from torch import Tensor

from remanence.core.settings import Choice, settings

Scale = Literal["digits", "cifar", "imagenet_sub", "imagenet_full"]


@dataclass(frozen=True)
class Images:
    """Labelled images in memory: pixels are uint8, N x channels x height x width."""

    pixels: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, indices: Tensor) -> Images:
        return Images(self.pixels[indices], self.labels[indices])

    def state(self) -> dict[str, Tensor]:
        """All that must be saved to have them again."""
        return {"pixels": self.pixels, "labels": self.labels}

    @staticmethod
    def load(state: Mapping[str, Tensor]) -> Images:
        """The images that were saved."""
        return Images(state["pixels"], state["labels"])

    def joined(self, other: Images) -> Images:
        """These images, then those."""
        pixels = torch.cat([self.pixels, other.pixels])
        return Images(pixels, torch.cat([self.labels, other.labels]))


@dataclass(frozen=True)
class Splits:
    """All that a source holds, labelled by the source's own class numbers."""

    train: Images
    test: Images
    class_names: tuple[str, ...]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of every pixel and label: two copies of a data set may be ordered differently."""
        digest = hashlib.blake2b(digest_size=8)
        for images in (self.train, self.test):
            digest.update(images.pixels.contiguous().numpy().data)
            digest.update(images.labels.contiguous().numpy().data)
        return digest.hexdigest()

    @cached_property
    def mean_image(self) -> Tensor:
        """The mean of all training images, in 0..1."""
        return self.train.pixels.float().mean(0) / 255


@settings
class Data(Choice):
    """A source of images; `scale` picks the schedules that methods were published with."""

    scale: ClassVar[Scale]
    order: ClassVar[str] = "natural"
    base: ClassVar[int]
    increment: ClassVar[int]
    augmentation: ClassVar[str]
    backbone: ClassVar[str]

    @abstractmethod
    def load(self) -> Splits:
        """Read everything; a DataError says in one line what is missing and what to do."""


BASE = Data
