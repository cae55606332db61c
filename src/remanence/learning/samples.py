"""Images as programs have them: arrays, rows of a table, files; and how they become photographs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from remanence.photographs.decode import content_hash
from remanence.photographs.shown import Photograph

CHANNELS = (1, 3, 4)


@dataclass(frozen=True)
class Scale:
    """The numbers that stand for black and white; bytes are what they are."""

    black: float
    white: float

    @classmethod
    def of(cls, values: NDArray[Any]) -> Scale:
        """That of an array: 0..255 of bytes, else the lowest and the highest number in it."""
        if values.dtype == np.uint8 or not values.size:
            return BYTES
        return cls(float(values.min()), float(values.max()))

    def grey(self, values: NDArray[Any]) -> NDArray[np.uint8]:
        """The same in bytes; what is darker than black is black."""
        if values.dtype == np.uint8 and self == BYTES:
            return values
        span = self.white - self.black or 1.0
        shares = ((values.astype(np.float64) - self.black) / span).clip(0, 1)
        return np.round(255 * shares).astype(np.uint8)


BYTES = Scale(0.0, 255.0)


def are_photographs(images: Any) -> bool:
    """Whether these are files, their bytes, or images: each by itself, of any size."""
    if isinstance(images, np.ndarray) and (images.ndim != 1 or images.dtype.kind not in "OU"):
        return False
    first = next(iter(images), None) if isinstance(images, list | tuple | np.ndarray) else None
    is_image = isinstance(first, np.ndarray) and first.ndim > 1 and first.dtype == np.uint8
    return is_image or isinstance(first, str | Path | bytes | Image.Image)


def folded(rows: NDArray[np.uint8], shape: tuple[int, ...] | None) -> NDArray[np.uint8]:
    """Rows of a table as images: of the shape that is named, else square.

    k * k numbers are a grey square and 3 * k * k a coloured one; any other number of them is filled
    up to a grey square with black.

    >>> folded(np.zeros((2, 64), np.uint8), None).shape, folded(np.zeros((2, 12)), None).shape
    ((2, 8, 8), (2, 2, 2, 3))
    """
    count, width = rows.shape
    if shape is not None:
        if math.prod(shape) != width:
            raise ValueError(f"image_shape={shape} does not fit rows of {width} numbers")
        return rows.reshape(count, *shape)
    grey, coloured = math.isqrt(width), math.isqrt(width // 3)
    if grey**2 != width and 3 * coloured**2 == width:
        return rows.reshape(count, coloured, coloured, 3)
    side = grey if grey**2 == width else grey + 1
    filled = np.zeros((count, side**2), rows.dtype)
    filled[:, :width] = rows
    return filled.reshape(count, side, side)


def as_photographs(
    images: NDArray[Any], scale: Scale, shape: tuple[int, ...] | None
) -> Sequence[Photograph]:
    """An array of rows, of grey images or of coloured ones, the channels last."""
    grey = scale.grey(images)
    if grey.ndim == 2:
        grey = folded(grey, shape)
    if not (grey.ndim == 3 or (grey.ndim == 4 and grey.shape[3] in CHANNELS)):
        raise ValueError(
            f"an array {images.shape} holds no images: give N x H x W, N x H x W x 3, or rows"
        )
    return list(grey)


def fingerprint(photograph: Photograph) -> str:
    """A hash of what it shows: of a file that of its bytes, as `remanence learn` takes it."""
    if isinstance(photograph, str | Path):
        return content_hash(Path(photograph))
    content = photograph if isinstance(photograph, bytes) else np.asarray(photograph).tobytes()
    return hashlib.blake2b(content, digest_size=16).hexdigest()
