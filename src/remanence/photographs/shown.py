"""Photographs as people have them to what a network takes: files, bytes, images, arrays."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from remanence.core.errors import DataError
from remanence.core.machine import processors
from remanence.photographs.decode import Unreadable, pixels_of

Photograph = str | Path | bytes | Image.Image | NDArray[np.uint8]


def squares_of(photographs: Sequence[Photograph], side: int, centre: float) -> Tensor:
    """The centre of each, uint8, N x 3 x side x side."""

    def square(photograph: Photograph) -> NDArray[np.uint8]:
        try:
            return pixels_of(_source(photograph), side, centre)
        except Unreadable as error:
            name = photograph if isinstance(photograph, str | Path) else "a photograph"
            raise DataError(f"{name} cannot be read as an image: {error}") from None

    with ThreadPoolExecutor(processors()) as threads:
        squares = list(threads.map(square, photographs))
    return torch.from_numpy(np.stack(squares)).permute(0, 3, 1, 2)


def _source(photograph: Photograph) -> bytes | Path | Image.Image:
    if isinstance(photograph, str):
        return Path(photograph)
    if isinstance(photograph, np.ndarray):
        return _image(photograph)
    return photograph


def _image(pixels: NDArray[np.uint8]) -> Image.Image:
    grey = pixels[:, :, 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    is_image = grey.ndim == 2 or (grey.ndim == 3 and grey.shape[2] in (3, 4))
    if grey.dtype != np.uint8 or not is_image or 0 in grey.shape:
        raise DataError(
            f"an array of {pixels.dtype} {pixels.shape} is no image: give height x width (x 3) "
            "in uint8"
        )
    return Image.fromarray(grey)
