"""Pixels to small pictures that stand in a page as text."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

LARGEST_SIDE = 72  # pixels; larger images are made smaller
LOSSLESS_SIDE = 32
GRAY = 128

Picture = NDArray[np.uint8]


def small(pixels: Tensor) -> Picture:
    """One image (uint8, channels x height x width) as height x width x 3, made small."""
    channels = pixels.cpu().numpy()
    colours = channels if len(channels) == 3 else np.repeat(channels[:1], 3, axis=0)
    image = Image.fromarray(np.ascontiguousarray(colours.transpose(1, 2, 0)))
    image.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    return np.asarray(image)


def as_text(pictures: Sequence[Picture]) -> str:
    """Pictures of one size side by side, a gray line between them, as a data URI."""
    between = np.full_like(pictures[0][:, :1], GRAY)
    parts = [part for picture in pictures for part in (between, picture)][1:]
    row = np.concatenate(parts, axis=1)
    content = io.BytesIO()
    image = Image.fromarray(row)
    if len(row) <= LOSSLESS_SIDE:
        image.save(content, "WEBP", lossless=True)
    else:
        image.save(content, "WEBP", quality=80)
    return "data:image/webp;base64," + base64.b64encode(content.getvalue()).decode()
