"""CIFAR-100 made small, for trying an idea in a minute; choices are not made on its test images.

Training images are shrunk to 16 x 16 pixels. The first `images` of each class are learned from, the
last `held_out` are what is read; the test images of CIFAR-100 are not touched. From this folder:

    remanence grid cifar100-t5-r5-lucir data=small_cifar stream.sizes=[20,10,10] ...
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.core.settings import AtLeastOne, settings
from remanence.data.base import Data, Images, Scale, Splits
from remanence.data.cifar100 import Cifar100


@settings
class SmallCifar(Data):
    """The first `images` of each class, and its last `held_out` to be read."""

    scale: ClassVar[Scale] = "cifar"
    order: ClassVar[str] = "icarl1993"
    base: ClassVar[int] = 20
    increment: ClassVar[int] = 10
    augmentation: ClassVar[str] = "cifar_lucir"
    backbone: ClassVar[str] = "resnet32"

    images: AtLeastOne = 300
    held_out: AtLeastOne = 100
    folder: str | None = None

    def load(self) -> Splits:
        whole = Cifar100(folder=self.folder).load()
        there_are = torch.bincount(whole.train.labels)
        rank = _rank_in_class(whole.train.labels)
        first = rank < self.images
        last = (rank >= there_are[whole.train.labels] - self.held_out) & ~first
        train, test = _shrunk(whole.train, first), _shrunk(whole.train, last)
        return dataclasses.replace(whole, train=train, test=test)


def _rank_in_class(labels: Tensor) -> Tensor:
    """How many images of the same class stand before each."""
    order = labels.sort(stable=True).indices
    starts = torch.bincount(labels).cumsum(0).roll(1)
    starts[0] = 0
    rank = torch.empty_like(labels)
    rank[order] = torch.arange(len(labels)) - starts[labels[order]]
    return rank


def _shrunk(images: Images, chosen: Tensor) -> Images:
    pixels = F.avg_pool2d(images.pixels[chosen].float(), 2).round().byte()
    return Images(pixels, images.labels[chosen], chosen.nonzero()[:, 0])
