"""Photographs that `remanence pack` has decoded once: read where they are mapped, not decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, cast

from remanence.core.choices import build
from remanence.core.errors import DataError
from remanence.core.machine import processors
from remanence.core.packings import expanded
from remanence.core.settings import AtLeastOne, settings
from remanence.data.base import Data, Scale, Splits
from remanence.photographs.pack import described
from remanence.photographs.packed_album import packed


@settings
class Packed(Data):
    """What was packed says which classes there are, in which order and at which scale.

    folder: what `remanence pack` has made.
    size: pixels on each side of the square that the network sees.
    workers: threads that cut and resize; open, one for each processor. They change no result.
    """

    augmentation: ClassVar[str] = "imnet_lucir"
    backbone: ClassVar[str] = "resnet18"

    folder: str | None = None
    size: AtLeastOne = 224
    workers: AtLeastOne | None = None

    @property
    def scale(self) -> Scale:
        return self._source().scale

    @property
    def order(self) -> str:
        return self._source().order

    @property
    def base(self) -> int:
        return self._source().base

    @property
    def increment(self) -> int:
        return self._source().increment

    def load(self) -> Splits:
        about, workers = self._about(), self.workers or processors()
        parts = packed(self._root(), about["train"], about["test"], self.size, workers)
        return Splits(*parts, tuple(about["classes"]))

    def _source(self) -> Data:
        """What was packed, as it was chosen then; a folder of one's own as long as that is open."""
        if self.folder is None:
            return cast(Data, build("data", {"name": "folder"}))
        return cast(Data, build("data", self._about()["data"]))

    def _about(self) -> dict[str, Any]:
        return described(self._root())

    def _root(self) -> Path:
        if self.folder is None:
            raise DataError("data.folder: say what 'remanence pack' has made: data.folder=PATH")
        return expanded(self.folder)
