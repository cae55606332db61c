"""Photographs of plain colours, and a pretrained network that sees nothing but colours."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F

COLOURS = {
    "red": (200, 40, 40),
    "green": (40, 180, 60),
    "blue": (50, 60, 200),
    "grey": (130, 130, 130),
    "white": (235, 235, 235),
}
BACKBONE = ("--backbone", "made_classes:Colours", "--side", "8")


class Colours(nn.Module):
    """The mean colour of each quarter. Where a file `stumble` says so, a later batch kills it.

    In a child it waits with a batch as long as there is a file `linger`.
    """

    pretrained = True

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def forward(self, images: Tensor) -> Tensor:
        self.seen += len(images) > 1  # one is but to see how many features there are
        stumble = Path("stumble")
        if stumble.exists() and self.seen > int(stumble.read_text()):
            os.kill(os.getpid(), signal.SIGKILL)
        while len(images) > 1 and Path("linger").exists() and multiprocessing.parent_process():
            time.sleep(0.01)
        return F.adaptive_avg_pool2d(images, 2).flatten(1)


def photos(root: Path, *names: str, count: int = 6, first: int = 0) -> Path:
    """So many photographs of each colour, in folders that are called as they are."""
    for name in names:
        (root / name).mkdir(parents=True, exist_ok=True)
        for number in range(first, first + count):
            rng = np.random.default_rng([number, *COLOURS[name]])
            pixels = rng.normal(COLOURS[name], 12, (12, 16, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(root / name / f"{number:03}.png")
    return root
