"""The version of a model that is in use; when the folder says another, that takes its place."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import torch

from remanence.core.errors import FolderError, RemanenceError
from remanence.model.description import Description
from remanence.model.folder import DESCRIPTION, ModelFolder
from remanence.predictor import Predictor

Mark = tuple[int, int, int]


class InUse:
    """A predictor that is replaced in one step: whoever has the old one goes on with it.

    trouble: why the version that the folder names could not be loaded, if so.
    """

    def __init__(self, model: Path, own_code: bool = False) -> None:
        self.folder = ModelFolder(model)
        self.trouble: str | None = None
        self._own_code = own_code
        self._changing = threading.Lock()
        self._described: dict[Mark, Description] = {}
        self._mark = self._mark_of(self.folder.current)
        self.predictor = self._loaded()

    def refresh(self) -> None:
        """Take the version into use that the folder names, if it is another one.

        What is wrong with it is remembered, and the one in use stays.
        """
        with self._changing:
            try:
                mark = self._mark_of(self.folder.current)
                if mark != self._mark:
                    self.predictor, self._mark = self._loaded(), mark
                self.trouble = None
            except RemanenceError as error:
                self.trouble = str(error)

    def history(self) -> list[Description]:
        """All versions that can be read, the oldest first; each is read once."""
        found: dict[Mark, Description] = {}
        for number in self.folder.versions:
            with contextlib.suppress(FolderError):
                mark = self._mark_of(number)
                found[mark] = self._described.get(mark) or self.folder.describe(number)
        self._described = found
        return list(found.values())

    def _loaded(self) -> Predictor:
        predictor = Predictor.load(self.folder.path, own_code=self._own_code)
        predictor.nearest_kept(torch.zeros(1, predictor.network.trunk.width), 1)  # now, not later
        return predictor

    def _mark_of(self, number: int) -> Mark:
        """What tells a version from any other that has had its number, without reading it."""
        path = self.folder.folder(number) / DESCRIPTION
        try:
            found = path.stat()
        except OSError as error:
            raise FolderError(f"cannot read {path}: {error.strerror or error}") from None
        return number, found.st_mtime_ns, found.st_ino
