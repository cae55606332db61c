"""What is exported: a network with everything folded into one matrix, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor

from remanence.core import seeds
from remanence.model.classifier import Classifier

MOST_REAL, MADE = 32, 8


@dataclass(frozen=True)
class Subject:
    """A network, and what a file of it says.

    network: with its temperature folded in. eager: what it came from says of pixels: logits.
    backbone: settings of its trunk. names: of the classes. shape: channels, height and width.
    shown: how an image becomes these pixels. source: where it all comes from.
    real: pixels of real images, uint8, to check with.
    """

    network: Classifier
    eager: Callable[[Tensor], Tensor]
    backbone: Mapping[str, Any]
    names: tuple[str, ...]
    shape: tuple[int, int, int]
    shown: Mapping[str, Any]
    source: Mapping[str, Any]
    real: Tensor

    @property
    def about(self) -> dict[str, Any]:
        """What the file says of itself; the values are JSON."""
        return {
            "classes": list(self.names),
            "preprocessing": {
                "input": "N x {} x {} x {}, pixels in 0..255".format(*self.shape),
                "channels": "red, green, blue" if self.shape[0] == 3 else "grey",
                **self.shown,
                "normalisation": "inside the network",
            },
            "network": {
                "backbone": dict(self.backbone),
                "transform": self.network.transform,
                "shape": list(self.shape),
            },
            "source": dict(self.source),
            "remanence": version("remanence"),
        }

    def made(self) -> Tensor:
        """Pixels that were made up: noise, and images of one colour."""
        chance = seeds.generator(0, "made images", *self.shape)
        noise = torch.randint(256, (MADE - 2, *self.shape), generator=chance).to(torch.uint8)
        black = torch.zeros(1, *self.shape, dtype=torch.uint8)
        return torch.cat([noise, black, black + 255])


def spread(count: int) -> list[int]:
    """The places of those that are checked with, from all over so many."""
    step = max(1, count / MOST_REAL)
    return [int(number * step) for number in range(min(count, MOST_REAL))]
