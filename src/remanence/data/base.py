"""What a source of images must give."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

from torch import Tensor

from remanence.core.settings import Choice, settings
from remanence.images import Images as Images

Scale = Literal["digits", "cifar", "imagenet_sub", "imagenet_full"]


@dataclass(frozen=True)
class Splits:
    """All that a source holds, labelled by the source's own class numbers.

    notes: what the user should know about it, each with the list of what it is about.
    """

    train: Images
    test: Images
    class_names: tuple[str, ...]
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all images and labels: two copies of a data set may be ordered differently."""
        digest = hashlib.blake2b(digest_size=8)
        for images in (self.train, self.test):
            for part in images.identity():
                digest.update(part)
        return digest.hexdigest()

    @cached_property
    def mean_image(self) -> Tensor:
        """The mean of all training images, in 0..1."""
        return self.train.mean_image()


@settings
class Data(Choice):
    """A source of images, and what is learned from it how where nothing else is chosen.

    What depends on a setting of the source is a property of it.
    """

    augmentation: ClassVar[str]
    backbone: ClassVar[str]

    @property
    @abstractmethod
    def scale(self) -> Scale:
        """Picks the schedules that methods were published with."""

    @property
    def order(self) -> str:
        """The class order."""
        return "natural"

    @property
    @abstractmethod
    def base(self) -> int:
        """Classes in the first increment."""

    @property
    @abstractmethod
    def increment(self) -> int:
        """Classes in each later one."""

    @abstractmethod
    def load(self) -> Splits:
        """Read everything; a DataError says in one line what is missing and what to do."""


BASE = Data
