"""CIFAR-100: 60,000 photographs of 32 x 32 pixels in 100 classes, fetched once."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from remanence.core import restricted_pickle
from remanence.core.download import fetch
from remanence.core.errors import DataError
from remanence.core.packings import Packing, Part, data_folders, find
from remanence.core.progress import Progress
from remanence.core.settings import settings
from remanence.data.base import Data, Images, Scale, Splits

URL = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
MD5 = "eb9058c3a382ffc7106e4002c42a8d85"
PYTHON = Packing("cifar-100-python", ("meta", "train", "test"))
BINARY = Packing("cifar-100-binary", ("fine_label_names.txt", "train.bin", "test.bin"))
CLASSES = 100
SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
LABELS = 2  # bytes before the pixels of a record: the coarse label and the fine one
LARGEST = 2**28  # bytes; all of it is 186 million

T = TypeVar("T")
Labelled = tuple[NDArray[np.uint8], NDArray[np.int64]]


@settings
class Cifar100(Data):
    """CIFAR-100 with its fine labels.

    folder: the folder or archive that holds it; without, REMANENCE_DATA and the cache are searched.
    """

    scale: ClassVar[Scale] = "cifar"
    order: ClassVar[str] = "icarl1993"
    base: ClassVar[int] = 50
    increment: ClassVar[int] = 10
    augmentation: ClassVar[str] = "cifar_lucir"
    backbone: ClassVar[str] = "resnet32"

    folder: str | None = None

    def load(self) -> Splits:
        places = data_folders(self.folder)
        packing, (names, train, test) = find("cifar100", (BINARY, PYTHON), places, LARGEST)
        if packing == BINARY:
            class_names = _checked_names(names, _names_of_text(names))
            images = [_checked_images(part, *_records(part)) for part in (train, test)]
        else:
            class_names = _checked_names(names, _names_of_pickle(names))
            images = [_checked_images(part, *_table(part)) for part in (train, test)]
        return Splits(images[0], images[1], class_names)


def download(folder: Path, progress: Progress) -> Path:
    """Fetch the official archive into a folder; `load` reads it as it is."""
    return fetch(URL, folder / f"{PYTHON.folder}.tar.gz", MD5, progress)


def _names_of_text(part: Part) -> list[str]:
    return [line.strip() for line in _text(part.content).splitlines() if line.strip()]


def _records(part: Part) -> Labelled:
    size = LABELS + PIXELS
    if len(part.content) % size:
        raise _wrong(part, f"has {len(part.content)} bytes, which is no multiple of {size}")
    records = np.frombuffer(part.content, np.uint8).reshape(-1, size)
    return records[:, LABELS:], records[:, LABELS - 1].astype(np.int64)


def _names_of_pickle(part: Part) -> list[str]:
    names: list[Any] = _entry(part, _tree(part), "fine_label_names", list)
    return [_text(name) for name in names]


def _table(part: Part) -> Labelled:
    tree = _tree(part)
    labels: list[Any] = _entry(part, tree, "fine_labels", list)
    stored = _entry(part, tree, "data", restricted_pickle.StoredArray)
    try:
        pixels = stored.uint8()
    except ValueError as error:
        raise _wrong(part, f"has data that are {error}") from None
    if pixels.shape != (len(labels), PIXELS):
        rows, columns = pixels.shape
        raise _wrong(part, f"has {rows} x {columns} pixels for {len(labels)} labels")
    if not all(label in range(CLASSES) for label in labels):
        raise _out_of_range(part)
    return pixels, np.array(labels, np.int64)


def _tree(part: Part) -> dict[str, Any]:
    tree = restricted_pickle.load(part.content, part.source)
    if not isinstance(tree, dict):
        raise _wrong(part, "holds no dictionary")
    return {_text(key): value for key, value in tree.items()}


def _entry(part: Part, tree: dict[str, Any], key: str, kind: type[T]) -> T:
    value = tree.get(key)
    if not isinstance(value, kind):
        raise _wrong(part, f"has no '{key}', or of another type")
    return value


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _checked_names(part: Part, names: list[str]) -> tuple[str, ...]:
    distinct = {name for name in names if name.isprintable() and name}
    if not len(names) == len(distinct) == CLASSES:
        raise _wrong(part, f"has {len(distinct)} different class names, not {CLASSES}")
    return tuple(names)


def _checked_images(part: Part, pixels: NDArray[np.uint8], labels: NDArray[np.int64]) -> Images:
    if labels.size and labels.max() >= CLASSES:
        raise _out_of_range(part)
    counts = np.bincount(labels, minlength=CLASSES)
    # All classes are equally large, so this notices a file that was cut between two records.
    if counts.min() < max(counts.max(), 1):
        few, many = counts.argmin(), counts.argmax()
        raise _wrong(
            part,
            f"is not whole: {counts[few]} images of class {few}, {counts[many]} of class {many}",
        )
    copied = np.array(pixels, order="C").reshape(-1, *SHAPE)
    return Images(torch.from_numpy(copied), torch.from_numpy(labels))


def _out_of_range(part: Part) -> DataError:
    return _wrong(part, f"has labels that are not in 0..{CLASSES - 1}")


def _wrong(part: Part, what: str) -> DataError:
    return DataError(
        f"{part.source} {what}: delete it and get it again with 'remanence download cifar100'"
    )
