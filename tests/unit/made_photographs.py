"""Photographs that are made: smooth colours, so that resizing in another way changes little."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from remanence.photographs.album import Album
from remanence.photographs.collection import Photographs


def smooth(width: int = 90, height: int = 60, seed: int = 0) -> NDArray[np.uint8]:
    """Slow waves of colour, height x width x 3; no two corners are alike."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:height, 0:width] / max(height, width)
    channels = [
        np.sin(a * rows + b * columns + c)
        for a, b, c in zip(
            rng.uniform(1, 4, 3), rng.uniform(1, 4, 3), rng.uniform(0, 6, 3), strict=True
        )
    ]
    return (127.5 + 120 * np.stack(channels, 2)).astype(np.uint8)


def save(path: Path, seed: int = 0, size: tuple[int, int] = (90, 60)) -> Path:
    """A photograph in a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(smooth(*size, seed=seed)).save(path, quality=95)
    return path


def tree(
    root: Path, counts: dict[str, int], first: int = 0, size: tuple[int, int] = (20, 16)
) -> int:
    """So many photographs in each folder, no two alike; the number of the next one."""
    for folder, count in counts.items():
        for _ in range(count):
            save(root / folder / f"{first:05}.jpg", first, size)
            first += 1
    return first


def photographs(
    root: Path, count: int = 11, side: int = 8, workers: int = 2, labels: int = 3
) -> Photographs:
    """An album of photographs, all of them seen."""
    tree(root, {"all": count})
    names = np.array([f"all/{number:05}.jpg" for number in range(count)], dtype=np.object_)
    sizes = np.array([(root / name).stat().st_size for name in names])
    album = Album(root, names, sizes, side, workers)
    return Photographs(album, torch.arange(count), torch.arange(count) % labels)
