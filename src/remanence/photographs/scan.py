"""Which photographs lie in the class folders below a folder, and which of them are to be used."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from remanence.core.errors import DataError
from remanence.photographs.album import Album
from remanence.photographs.collection import Photographs
from remanence.photographs.decode import Unreadable, cannot_read, check_header

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp")


class File(NamedTuple):
    """A file by its name from the folder of the data on, and its size in bytes."""

    name: str
    size: int


Classes = Mapping[str, Sequence[File]]


def subfolders(folder: Path) -> list[str]:
    """The names of the folders in a folder, sorted, without those that are hidden."""
    with _listed(folder) as entries:
        return sorted(e.name for e in entries if e.is_dir() and not e.name.startswith("."))


def class_folders(root: Path, below: str, names: Sequence[str]) -> Classes:
    """The photographs of each class, in folders that are named after the classes."""
    return {name: photographs(root, f"{below}{name}/") for name in names}


def photographs(root: Path, below: str) -> list[File]:
    """Every photograph in a folder and in the folders within it, sorted by name."""
    return sorted(_walk(root, below))


def _walk(root: Path, below: str) -> Iterator[File]:
    with _listed(root / below) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(root, f"{below}{entry.name}/")
            elif entry.name.lower().endswith(ENDINGS):
                yield File(f"{below}{entry.name}", _size(entry))


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except OSError:  # a link that leads nowhere
        return 0


def _listed(folder: Path) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
    try:
        return os.scandir(folder)
    except OSError as error:
        raise cannot_read(folder, error) from None


def readable(root: Path, classes: Classes, workers: int | None) -> tuple[Classes, list[str]]:
    """The files that are images as far as one can tell, and what is wrong with the others.

    workers: threads that look at how each file begins; None believes all but the empty ones.
    """
    files = [file for one in classes.values() for file in one]
    wrong = {file.name: "it is empty, or a link to nothing" for file in files if file.size == 0}
    if workers is not None:
        begun = [file.name for file in files if file.size]
        wrong |= _wrong_headers(root, begun, workers)
    kept = {name: [f for f in one if f.name not in wrong] for name, one in classes.items()}
    return kept, [f"{name}: {why}" for name, why in sorted(wrong.items())]


def _wrong_headers(root: Path, names: Sequence[str], workers: int) -> dict[str, str]:
    def fault(name: str) -> str | None:
        try:
            check_header(root / name)
        except Unreadable as error:
            return str(error)
        return None

    with ThreadPoolExecutor(workers) as threads:
        found = zip(names, threads.map(fault, names), strict=True)
        return {name: why for name, why in found if why}


def check_not_empty(root: Path, train: Classes, test: Classes) -> None:
    """Raise a DataError where a class lacks images to learn from or to be tested on."""
    for kind, classes in (("train", train), ("test", test)):
        empty = [name for name in train if not classes.get(name)]
        if empty:
            more = f" (and {len(empty) - 1} more like it)" if len(empty) > 1 else ""
            raise DataError(
                f"class '{empty[0]}' in {root} has no {kind} image that can be read{more}: "
                "add some, or take the class away"
            )


def albums(
    root: Path, train: Classes, test: Classes, side: int, workers: int
) -> tuple[Photographs, Photographs]:
    """Training and test images of one album; a label is the place of a class among all."""
    labelled = [
        (label, file)
        for classes in (train, test)
        for label, name in enumerate(train)
        for file in classes[name]
    ]
    names = np.array([file.name for _, file in labelled], dtype=np.object_)
    sizes = np.array([file.size for _, file in labelled], dtype=np.int64)
    labels = torch.tensor([label for label, _ in labelled], dtype=torch.int64)
    places = torch.arange(len(labelled))
    everything = Photographs(Album(root, names, sizes, side, workers), places, labels)
    in_train = places < sum(map(len, train.values()))
    return everything[in_train], everything[~in_train]
