"""Finding a data set on this machine: where it may lie, and in which of its packings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from remanence.core import files
from remanence.core.errors import DataError
from remanence.core.tar_members import read_members

VARIABLE = "REMANENCE_DATA"


@dataclass(frozen=True)
class Packing:
    """One way in which a data set is published: a folder of files, or that folder as a .tar.gz."""

    folder: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """One file in memory; `source` is how an error names it."""

    source: str
    content: bytes


Found = tuple[Packing, list[Part]]


def data_folders(chosen: str | None = None) -> list[Path]:
    """Where to look, in this order; a folder that was chosen is the only one.

    Otherwise REMANENCE_DATA, if it is set, and then the cache folder. The first is also where
    a download goes.
    """
    if chosen:
        return [expanded(chosen)]
    named = os.environ.get(VARIABLE)
    return [*([expanded(named)] if named else []), files.cache_folder() / "data"]


def find(name: str, packings: Sequence[Packing], places: Sequence[Path], limit: int) -> Found:
    """The first complete copy of the data set of this name, with no file beyond `limit` bytes.

    A place is the folder of a packing, or holds that folder or its archive, or is an archive.
    """
    incomplete: list[Path] = []
    for place in places:
        for packing, folder in _folders(place, packings):
            missing = [file for file in packing.files if not os.path.isfile(folder / file)]
            if not missing:
                return packing, [_read(folder / file, limit) for file in packing.files]
            if len(missing) < len(packing.files):
                incomplete.append(folder / missing[0])
        archives = [place, *(place / f"{packing.folder}.tar.gz" for packing in packings)]
        for archive in filter(os.path.isfile, archives):
            return _unpacked(archive, packings, limit)
    what = f"{incomplete[0]} is missing" if incomplete else f"{name} is not on this machine"
    raise DataError(
        f"{what} (looked in {' and '.join(map(str, places))}): 'remanence download {name}' "
        f"fetches it, or say where it is with data.folder=... or {VARIABLE}"
    )


def _folders(place: Path, packings: Sequence[Packing]) -> Iterator[tuple[Packing, Path]]:
    for packing in packings:
        yield packing, place
        yield packing, place / packing.folder


def _read(path: Path, limit: int) -> Part:
    try:
        if path.stat().st_size > limit:
            raise DataError(f"{path} is larger than the whole data set: choose another folder")
        return Part(str(path), path.read_bytes())
    except OSError as error:
        raise DataError(
            f"cannot read {path}: {error.strerror or error}; make it readable or fetch it again"
        ) from None


def _unpacked(archive: Path, packings: Sequence[Packing], limit: int) -> Found:
    paths = {each: [f"{each.folder}/{file}" for file in each.files] for each in packings}
    members = read_members(archive, set().union(*paths.values()), limit)
    nearest = max(packings, key=lambda packing: len(members.keys() & paths[packing]))
    for path in paths[nearest]:
        if path not in members:
            raise DataError(f"{archive} has no {path} in it: delete it and fetch it again")
    return nearest, [Part(f"{archive} ({path})", members[path]) for path in paths[nearest]]


def expanded(text: str) -> Path:
    """The path that a user's words mean."""
    return Path(os.path.expanduser(text))
