"""Images of plain colours in memory, and a network that sees nothing but colours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

COLOURS = {
    "blue": (50, 60, 200),
    "green": (40, 180, 60),
    "grey": (130, 130, 130),
    "other": (200, 200, 20),
    "red": (200, 40, 40),
    "white": (235, 235, 235),
}


class Coloured(NamedTuple):
    """Images and the names of their colours."""

    images: NDArray[np.uint8]
    labels: list[str]


class Colours(nn.Module):
    """The mean colour of each quarter."""

    pretrained = True

    def forward(self, images: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(images, 2).flatten(1)


def coloured(
    *names: str, count: int = 6, first: int = 0, side: tuple[int, int] = (12, 12)
) -> Coloured:
    """So many images of each colour; the same number gives the same image."""
    images, labels = [], []
    for name in names:
        for number in range(first, first + count):
            rng = np.random.default_rng([number, *COLOURS[name]])
            noisy = rng.normal(COLOURS[name], 12, (*side, 3))
            images.append(noisy.clip(0, 255).astype(np.uint8))
            labels.append(name)
    return Coloured(np.stack(images), labels)
