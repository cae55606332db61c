"""Photographs on one core: seen from their files and from a pack, against the bare decoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from remanence.augment import augmentation
from remanence.bench.base import Bench, Benchmark, Row, Spread
from remanence.bench.shared.jpegs import HEIGHT, WIDTH, made_jpegs
from remanence.bench.shared.sides import Side, Timed, alternated
from remanence.core.progress import Progress
from remanence.core.settings import settings
from remanence.photographs.album import Album
from remanence.photographs.collection import Photographs
from remanence.photographs.pack import pack
from remanence.photographs.packed_album import packed

TURNS, FILES, SHORTER = 5, 64, 256
SIDES = (224, 64)


@settings
class Photos(Benchmark):
    """Each turn is one look at the same files, crops and all, by one thread."""

    def rows(self, bench: Bench) -> Iterator[Row]:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            for side in SIDES[:1] if bench.quick else SIDES:
                yield from _rows(bench, side)
        finally:
            torch.set_num_threads(threads)


def _rows(bench: Bench, side: int) -> Iterator[Row]:
    files = made_jpegs(bench.folder / "jpegs", 8 if bench.quick else FILES)
    images = _album(files, side)
    packs = _packed(bench.folder / "pack", images, side)
    sides: dict[str, Side] = {
        "the bare decoder": partial(_decode, files),
        "prediction": partial(_seen, images, None),
        "training": partial(_seen, images, torch.arange(len(files))),
        "training, packed": partial(_seen, packs, torch.arange(len(files))),
    }
    for one in sides.values():
        one()
    found = alternated(sides, bench.turns(TURNS), torch.device("cpu"))
    for what, against in (
        ("the bare decoder", ""),
        ("prediction", "the bare decoder"),
        ("training", "the bare decoder"),
        ("training, packed", "training"),
    ):
        name = f"{what}, {WIDTH} x {HEIGHT}" + (f" to {side}" if against else "")
        ratio = found.ratio(against, what) if against else None
        yield Row(name, _pace(found, what, len(files)), "images/s", against, ratio)


def _pace(found: Timed, what: str, count: int) -> Spread:
    return Spread.of([count / seconds for seconds in found.seconds[what]])


def _album(files: Sequence[Path], side: int) -> Photographs:
    names = np.array([file.name for file in files], dtype=np.object_)
    sizes = np.array([file.stat().st_size for file in files], dtype=np.int64)
    places = torch.arange(len(files))
    return Photographs(Album(files[0].parent, names, sizes, side, 1), places, places)


def _packed(folder: Path, images: Photographs, side: int) -> Photographs:
    pack(
        folder,
        (images, images[torch.empty(0, dtype=torch.int64)]),
        {"shorter": SHORTER},
        Progress(),
    )
    return packed(folder, len(images), 0, side, 1)[0]


def _decode(files: Sequence[Path]) -> None:
    for file in files:
        with Image.open(file) as image:
            image.load()


def _seen(images: Photographs, chances: Tensor | None) -> None:
    """As a loader sees them: decoded, cut, resized, varied and normalised."""
    varied = augmentation("imnet_lucir")
    (pixels,) = images.seen([torch.arange(len(images))], chances)
    if chances is None:
        varied.test_view(pixels, images.mean_image())
    else:
        draws = varied.draw(len(images), torch.Generator().manual_seed(0))
        varied.train_view(pixels, draws, images.mean_image())
