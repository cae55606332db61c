"""ImageNet (ILSVRC 2012), the whole of it or a hundred classes: photographs decoded when seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
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

CLASSES = 1000
FOLDER = "imagenet"


@settings
class Imagenet(Data):
    """FOLDER/train/WNID/*.JPEG with FOLDER/val/WNID/*.JPEG, or a flat val and a list beside it.

    subset: full, or a hundred classes: sub_ucir (those of LUCIR and DDE, in the order of their
        code), sub_paper (the same in the order of the paper's words), sub_alpha (the first hundred,
        as PODNet and BiC have them).
    folder: where train and val are; without, REMANENCE_DATA and the cache are searched.
    truth: for a flat val, the list of '<file> <wnid>' or LOC_val_solution.csv, if not beside it.
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
        wnids = _wnids(root)
        needed = [wnids[index] for index in named_orders()[self.order]]
        train, empty = readable(root, class_folders(root, "train/", needed), None)
        test, also_empty = readable(root, _tested(root, needed, wnids, self.truth), None)
        check_not_empty(root, train, test)
        train, test = ({name: one.get(name, ()) for name in wnids} for one in (train, test))
        images = albums(root, train, test, self.size, workers)
        left_out = [*empty, *also_empty]
        line = f"empty files left out: {len(left_out)}"
        return Splits(*images, tuple(wnids), {line: left_out} if left_out else {})

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


def _wnids(root: Path) -> list[str]:
    found = [name for name in subfolders(root / "train") if re.fullmatch(r"n\d{8}", name)]
    if len(found) != CLASSES:
        raise DataError(
            f"{root / 'train'} has {len(found)} class folders, ImageNet has {CLASSES}: all are "
            "needed, for a class is known by its place among them; for fewer take data=folder"
        )
    return found


def _tested(root: Path, needed: Sequence[str], wnids: Sequence[str], truth: str | None) -> Classes:
    if not (root / "val").is_dir():
        raise DataError(f"{root} has no folder called val: put the validation images there")
    if subfolders(root / "val"):
        return class_folders(
            root, "val/", [name for name in needed if (root / "val" / name).is_dir()]
        )
    everything = flat_classes(root, "val/", wnids, expanded(truth) if truth else None)
    return {name: everything.get(name, ()) for name in needed}
