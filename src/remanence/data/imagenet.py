"""ImageNet (ILSVRC 2012), the whole of it or a hundred classes: photographs decoded when seen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import ClassVar, Literal

from remanence.core.errors import DataError
from remanence.core.machine import processors
from remanence.core.packings import VARIABLE, data_folders, expanded
from remanence.core.settings import AtLeastOne, settings
from remanence.data.base import Data, Scale, Splits
from remanence.orders import named_orders
from remanence.photographs.scan import (
    Classes,
    albums,
    check_not_empty,
    class_folders,
    readable,
    subfolders,
)
from remanence.photographs.truth import flat_classes

FOLDER = "imagenet"


@settings
class Imagenet(Data):
    """FOLDER/train/WNID/*.JPEG with FOLDER/val/WNID/*.JPEG, or a flat val and a list beside it.

    Only the folders of the classes that are learned need to be there.

    subset: full, or a hundred classes: sub_ucir (those of LUCIR and DDE, in the order of their
        code), sub_paper (the same in the order of the paper's words), sub_alpha (the first hundred,
        as PODNet and BiC have them).
    folder: where train and val are; without, REMANENCE_DATA and the cache are searched.
    truth: for a flat val, the list of '<file> <wnid>', LOC_val_solution.csv, or the ground truth of
        the devkit with its meta.mat, if not beside it.
    size: pixels on each side of the square that the network sees.
    workers: threads that decode; open, one for each processor. They change no result.
    """

    augmentation: ClassVar[str] = "imnet_lucir"
    backbone: ClassVar[str] = "resnet18"

    subset: Literal["full", "sub_ucir", "sub_paper", "sub_alpha"] = "full"
    folder: str | None = None
    truth: str | None = None
    size: AtLeastOne = 224
    workers: AtLeastOne | None = None

    @property
    def scale(self) -> Scale:
        return "imagenet_full" if self.subset == "full" else "imagenet_sub"

    @property
    def order(self) -> str:
        return "imagenet1993" if self.subset == "full" else f"imagenet_{self.subset}"

    @property
    def base(self) -> int:
        return 500 if self.subset == "full" else 50

    @property
    def increment(self) -> int:
        return 100 if self.subset == "full" else 10

    def load(self) -> Splits:
        root, workers = self._root(), self.workers or processors()
        wnids = known_wnids()
        needed = [wnids[index] for index in named_orders()[self.order]]
        _check_folders(root, needed)
        train, empty = readable(root, class_folders(root, "train/", needed), None)
        test, also_empty = readable(root, _tested(root, needed, wnids, self.truth), None)
        check_not_empty(root, train, test)
        train, test = ({name: one.get(name, ()) for name in wnids} for one in (train, test))
        images = albums(root, train, test, self.size, workers)
        left_out = [*empty, *also_empty]
        line = f"empty files left out: {len(left_out)}"
        return Splits(*images, wnids, {line: left_out} if left_out else {})

    def _root(self) -> Path:
        places = data_folders(self.folder)
        for place in places:
            for root in (place / FOLDER, place):
                if (root / "train").is_dir():
                    return root
        raise DataError(
            f"imagenet is not on this machine (looked in {' and '.join(map(str, places))}): say "
            f"where its folders train and val are with data.folder=... or {VARIABLE}"
        )


@cache
def known_wnids() -> tuple[str, ...]:
    """The thousand classes of ILSVRC 2012, sorted; a class is known by its place among them."""
    file = resources.files("remanence.data").joinpath("imagenet_wnids.txt")
    return tuple(file.read_text(encoding="ascii").split())


def _check_folders(root: Path, needed: Sequence[str]) -> None:
    there = set(subfolders(root / "train"))
    missing = sorted(set(needed) - there)
    if missing:
        raise DataError(
            f"{root / 'train'} lacks {len(missing)} of the {len(needed)} class folders that are "
            f"needed, {missing[0]} first: add them, or take data=folder for classes of your own"
        )


def _tested(root: Path, needed: Sequence[str], wnids: Sequence[str], truth: str | None) -> Classes:
    if not (root / "val").is_dir():
        raise DataError(f"{root} has no folder called val: put the validation images there")
    if subfolders(root / "val"):
        return class_folders(
            root, "val/", [name for name in needed if (root / "val" / name).is_dir()]
        )
    everything = flat_classes(root, "val/", wnids, expanded(truth) if truth else None)
    return {name: everything.get(name, ()) for name in needed}
