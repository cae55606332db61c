"""Labelled images in memory. Photographs that stay files are seen by others as the same thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor


class Images:
    """Labelled images in memory: pixels are uint8, N x channels x height x width."""

    def __init__(self, pixels: Tensor, labels: Tensor) -> None:
        self._pixels = pixels
        self.labels = labels

    @property
    def pixels(self) -> Tensor:
        """All of them at once."""
        return self._pixels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, indices: Tensor) -> Images:
        return Images(self.pixels[indices], self.labels[indices])

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

    def labelled(self, labels: Tensor) -> Images:
        """The same images with other labels."""
        return Images(self.pixels, labels)

    def state(self) -> dict[str, Any]:
        """All that must be saved to have them again."""
        return {"pixels": self.pixels, "labels": self.labels}

    def load(self, state: Mapping[str, Any]) -> Images:
        """The images that were saved; these here say where they come from."""
        return Images(state["pixels"], state["labels"])

    def joined(self, other: Images) -> Images:
        """These images, then those."""
        return other.after(self)

    def after(self, first: Images) -> Images:
        """Those in memory, then these."""
        pixels = torch.cat([first.pixels, self.pixels])
        return Images(pixels, torch.cat([first.labels, self.labels]))

    def identity(self) -> Iterator[bytes | memoryview]:
        """What tells them from other images, to be hashed."""
        yield self.pixels.contiguous().numpy().data
        yield self.labels.contiguous().numpy().data

    def mean_image(self) -> Tensor:
        """The mean of all, in 0..1."""
        return self.pixels.float().mean(0) / 255
