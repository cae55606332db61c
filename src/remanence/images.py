"""Labelled images in memory. Photographs that stay files are seen by others as the same thing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from remanence.core.errors import RemanenceError

LEARNED = -1  # the place of an image that is in no source, because its pixels were learned


class Source(NamedTuple):
    """Where an image comes from, a hash of it, and the bytes that keeping it takes."""

    source: str
    hash: str
    bytes: int


class Images:
    """Labelled images in memory: pixels are uint8, N x channels x height x width.

    places: where each stands among the training images of its source.
    """

    def __init__(self, pixels: Tensor, labels: Tensor, places: Tensor | None = None) -> None:
        self._pixels: Tensor | None = pixels
        self.labels = labels
        self.places = torch.full((len(labels),), LEARNED) if places is None else places

    @property
    def pixels(self) -> Tensor:
        """All of them at once."""
        self.check_open()
        assert self._pixels is not None
        return self._pixels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, indices: Tensor) -> Images:
        return Images(self.pixels[indices], self.labels[indices], self.places[indices])

    @property
    def shape(self) -> tuple[int, ...]:
        """Channels, height and width of each."""
        return tuple(self.pixels.shape[1:])

    @property
    def nbytes(self) -> int:
        """How much keeping them takes."""
        return self.pixels.nbytes

    @property
    def unreadable(self) -> Mapping[str, str]:
        """Files that turned out to be no images, and why."""
        return {}

    def numbered(self) -> Images:
        """The same images, as the whole of a source."""
        return Images(self.pixels, self.labels, torch.arange(len(self)))

    def labelled(self, labels: Tensor) -> Images:
        """The same images with other labels."""
        return Images(self.pixels, labels, self.places)

    def state(self) -> dict[str, Any]:
        """All that must be saved to have them again."""
        return {"pixels": self.pixels, "labels": self.labels, "places": self.places}

    def load(self, state: Mapping[str, Any]) -> Images:
        """The images that were saved; these here say where they come from."""
        return Images(state["pixels"], state["labels"], state.get("places"))

    def joined(self, other: Images) -> Images:
        """These images, then those."""
        return other.after(self)

    def after(self, first: Images) -> Images:
        """Those in memory, then these."""
        pixels = torch.cat([first.pixels, self.pixels])
        labels = torch.cat([first.labels, self.labels])
        return Images(pixels, labels, torch.cat([first.places, self.places]))

    def sources(self) -> Iterator[Source]:
        """Where each of them comes from."""
        for place, image in zip(self.places.tolist(), self.pixels, strict=True):
            source = "learned" if place == LEARNED else f"training image {place}"
            digest = hashlib.blake2b(image.contiguous().numpy().data, digest_size=16)
            yield Source(source, digest.hexdigest(), image.nbytes)

    def close(self, kept: Images) -> None:
        """Nothing can be read of them any more, by whoever still has them, but what is kept."""
        if self._pixels is not None:
            self._pixels.zero_()
        self._pixels = None

    def check_open(self) -> None:
        """Raise a RemanenceError if they are closed."""
        if self._pixels is None:
            raise RemanenceError(
                "the training images of an increment that is over cannot be read: "
                "what is needed later must be kept as an exemplar"
            )

    def identity(self) -> Iterator[bytes | memoryview]:
        """What tells them from other images, to be hashed."""
        yield self.pixels.contiguous().numpy().data
        yield self.labels.contiguous().numpy().data

    def mean_image(self) -> Tensor:
        """The mean of all, in 0..1."""
        return self.pixels.float().mean(0) / 255
