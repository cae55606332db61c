"""The album of a pack: photographs are looked at where they are mapped, and none is decoded."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from remanence.photographs.album import Album
from remanence.photographs.collection import Photographs
from remanence.photographs.decode import Unreadable, shown
from remanence.photographs.pack import Entry, damaged, lots


@dataclass(frozen=True)
class Lot:
    """A file of pixels, mapped."""

    file: Path
    pixels: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class PackedAlbum(Album):
    """An album whose photographs are pixels already; names, sizes and hashes are of their files.

    entries: with the lot that each is in. checked: those whose pixels were held against their sum.
    """

    entries: list[tuple[Lot, Entry]] = field(default_factory=list)
    checked: set[int] = field(default_factory=set)

    def hash(self, place: int) -> str:
        return self.entries[place][1].hash

    def _shown(self, place: int, chance: int | None) -> NDArray[np.uint8]:
        lot, entry = self.entries[place]
        if entry.why:
            raise Unreadable(entry.why)
        length = entry.height * entry.width * 3
        pixels = lot.pixels[entry.start : entry.start + length]
        if place not in self.checked:
            if zlib.crc32(pixels.data) != entry.checksum:
                raise damaged(lot.file)
            self.checked.add(place)
        return shown(pixels.reshape(entry.height, entry.width, 3), self.side, chance)


def packed(
    folder: Path, train: int, test: int, side: int, workers: int
) -> tuple[Photographs, Photographs]:
    """Training and test images of a pack that holds so many of each."""
    entries = [
        (lot, entry)
        for file, found in lots(folder, train + test)
        for lot in [Lot(file, _mapped(file))]
        for entry in found
    ]
    names = np.array([entry.name for _, entry in entries], dtype=np.object_)
    sizes = np.array([entry.size for _, entry in entries], dtype=np.int64)
    labels = torch.tensor([entry.label for _, entry in entries], dtype=torch.int64)
    album = PackedAlbum(folder, names, sizes, side, workers, entries=entries)
    everything = Photographs(album, torch.arange(len(entries)), labels)
    in_train = torch.arange(len(entries)) < train
    return everything[in_train], everything[~in_train]


def _mapped(file: Path) -> NDArray[np.uint8]:
    if file.stat().st_size == 0:  # nothing in it could be read
        return np.empty(0, np.uint8)
    return np.memmap(file, np.uint8, mode="r")
