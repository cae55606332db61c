"""Photographs of your own: a folder for each class, split here where there is no test folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from remanence.core.errors import DataError
from remanence.core.machine import processors
from remanence.core.packings import expanded
from remanence.core.settings import AtLeastOne, settings
from remanence.data.base import Data, Scale, Splits
from remanence.photographs.scan import (
    Classes,
    albums,
    check_not_empty,
    class_folders,
    readable,
    subfolders,
)
from remanence.photographs.split import copies, hashes, of_equal_size, split

TEST_FOLDERS = ("test", "val")


@settings
class Folder(Data):
    """FOLDER/train/CLASS/* with FOLDER/test/CLASS/* (or val), or FOLDER/CLASS/*.

    folder: where they are.
    size: pixels on each side of the square that the network sees.
    test_share: of each class to test on, where there is no test folder.
    workers: threads that decode; open, one for each processor. They change no result.
    """

    scale: ClassVar[Scale] = "imagenet_sub"
    base: ClassVar[int] = 10
    increment: ClassVar[int] = 5
    augmentation: ClassVar[str] = "imnet_lucir"
    backbone: ClassVar[str] = "resnet18"

    folder: str | None = None
    size: AtLeastOne = 224
    test_share: Annotated[float, Field(gt=0, lt=1)] = 0.2
    workers: AtLeastOne | None = None

    def load(self) -> Splits:
        root, workers = self._root(), self.workers or processors()
        train, test = layout(root)
        train, wrong = readable(root, train, workers)
        if test is None:
            names = [file.name for one in train.values() for file in one]
            known = hashes(root, names, workers)
            train, test = split(root, train, known, self.test_share)
        else:
            test, also_wrong = readable(root, test, workers)
            wrong = [*wrong, *also_wrong]
            known = hashes(root, list(of_equal_size((train, test))), workers)
        check_not_empty(root, train, test)
        notes = {
            f"files left out because they cannot be read as images: {len(wrong)}": wrong,
            f"photographs that are there more than once: {len(copies(known))}": copies(known),
        }
        images = albums(root, train, test, self.size, workers)
        return Splits(
            *images, tuple(train), {line: about for line, about in notes.items() if about}
        )

    def _root(self) -> Path:
        if self.folder is None:
            raise DataError("data.folder: say where the photographs are: data.folder=PATH")
        root = expanded(self.folder)
        if not root.is_dir():
            raise DataError(f"data.folder: there is no folder {root}; name one of class folders")
        return root


def layout(root: Path) -> tuple[Classes, Classes | None]:
    """The class folders to learn from, and those to test on if there are any."""
    there = subfolders(root)
    tests = [name for name in TEST_FOLDERS if name in there]
    if "train" not in there and tests:
        raise DataError(f"{root} has a folder {tests[0]}, but none called train: add it")
    below = "train/" if "train" in there else ""
    names = _class_names(root / below)
    train = class_folders(root, below, names)
    if not below or not tests:
        return train, None
    tested = subfolders(root / tests[0])
    unknown = sorted(set(tested) - set(names))
    if unknown:
        raise DataError(f"{root / tests[0] / unknown[0]} is a class that {root / below} has not")
    test = class_folders(root, f"{tests[0]}/", tested)
    return train, {name: test.get(name, ()) for name in names}


def _class_names(folder: Path) -> list[str]:
    names = subfolders(folder)
    if not names:
        raise DataError(f"{folder} has no class folders: put the images of each class into one")
    for name in names:
        if not name.isprintable():
            raise DataError(f"the folder {name!r} in {folder} cannot be a class: rename it")
    return names
