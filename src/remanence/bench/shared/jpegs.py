"""JPEG files as large as those of ImageNet, with as much in them as photographs have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

WIDTH, HEIGHT, QUALITY = 500, 375, 92
COARSE = ((4, 50.0), (16, 35.0), (64, 25.0), (250, 50.0))  # cells across, and how far they swing


def made_jpegs(folder: Path, count: int) -> list[Path]:
    """So many files, called 00000.jpg and so on; noise of several grains, about 100 kB each."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_made(folder / f"{number:05}.jpg", number) for number in range(count)]


def _made(path: Path, seed: int) -> Path:
    chance = np.random.default_rng(seed)
    pixels = np.full((HEIGHT, WIDTH, 3), 128.0)
    for cells, swing in COARSE:
        grain = chance.integers(0, 256, (cells * HEIGHT // WIDTH + 1, cells, 3), dtype=np.uint8)
        spread = Image.fromarray(grain).resize((WIDTH, HEIGHT), Image.Resampling.BILINEAR)
        pixels += (np.asarray(spread) / 127.5 - 1) * swing
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(path, quality=QUALITY)
    return path
