"""An album: where photographs lie, how large the files are, and how they are decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from remanence.core.errors import DataError, RemanenceError
from remanence.photographs.decode import Unreadable, content_hash, square

GRAY = 128  # stands in for what cannot be read: neither dark nor bright, the same in every view


@dataclass(frozen=True, eq=False)
class Album:
    """Photographs below one folder, and how they are decoded.

    names: with '/', from the folder on. sizes: of the files, in bytes.
    side: of the square that is seen. workers: threads that decode.
    unreadable: what turned out to be no image, and why; it is seen as plain gray.
    hashes: of the files that were asked for. closed: what must not be looked at any more.
    """

    folder: Path
    names: NDArray[np.object_]
    sizes: NDArray[np.int64]
    side: int
    workers: int
    unreadable: dict[str, str] = field(default_factory=dict)
    hashes: dict[int, str] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)

    def square(self, place: int, chance: int | None) -> NDArray[np.uint8]:
        """One photograph as height x width x 3; without chance, as prediction sees it."""
        name = self.names[place]
        if place in self.closed:
            raise RemanenceError(f"{name} is of an increment that is over, and was not kept")
        try:
            return self._shown(place, chance)
        except Unreadable as error:
            self.unreadable[name] = str(error)
            return np.full((self.side, self.side, 3), GRAY, np.uint8)

    def _shown(self, place: int, chance: int | None) -> NDArray[np.uint8]:
        return square(self.folder / self.names[place], self.side, chance)

    def hash(self, place: int) -> str:
        """Of the bytes of a file."""
        if place not in self.hashes:
            self.hashes[place] = content_hash(self.folder / self.names[place])
        return self.hashes[place]

    def places(self, names: Sequence[str]) -> list[int]:
        """Where these names stand."""
        wanted = set(names)
        found = {name: place for place, name in enumerate(self.names) if name in wanted}
        for name in names:
            if name not in found:
                raise DataError(f"{self.folder / name} was kept, but is gone: put it back")
        return [found[name] for name in names]
