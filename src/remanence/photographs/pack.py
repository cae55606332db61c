"""A packed copy of photographs: decoded and made smaller once, in a few files that are mapped.

    pack.json       what was packed, and how; until all is there it is called plan.json
    00000.pixels    the pixels of some hundred photographs, one behind the other
    00000.json      for each of them: name, label, bytes and hash of the file, and where it is

A lot counts when its second file is there, so that work that was cut goes on with the first one
that is missing. A photograph that cannot be read has no pixels, but the reason.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.core import files
from remanence.core.errors import DataError, FolderError
from remanence.core.progress import Progress
from remanence.photographs.collection import Photographs
from remanence.photographs.decode import Unreadable, reduced_pixels

LOT = 512
PLAN, DESCRIPTION = "plan.json", "pack.json"


@dataclass(frozen=True)
class Entry:
    """One photograph of a lot: its file as it was, and where its pixels are.

    checksum: of the pixels. why: for what reason there are none.
    """

    name: str
    label: int
    size: int
    hash: str
    start: int
    height: int
    width: int
    checksum: int
    why: str = ""


def pack(
    folder: Path, parts: Sequence[Photographs], about: Mapping[str, Any], progress: Progress
) -> None:
    """Pack training and test images; `about` says all that decides the outcome, `shorter` first."""
    files.make_folder(folder)
    with files.locked(folder):
        if not _begun(folder, about):
            return
        all_places = [(images, number) for images in parts for number in range(len(images))]
        progress.planned(len(all_places))
        with ThreadPoolExecutor(parts[0].album.workers) as threads:
            for first in range(0, len(all_places), LOT):
                some = all_places[first : first + LOT]
                if not (folder / _index(first // LOT)).exists():
                    _pack_lot(folder, first // LOT, some, int(about["shorter"]), threads)
                progress.stepped(len(some))
        files.move(folder / PLAN, folder / DESCRIPTION)


def _begun(folder: Path, about: Mapping[str, Any]) -> bool:
    """Whether there is anything left to do; another pack in this folder is refused."""
    text = json.dumps(about, indent=1, ensure_ascii=False)
    for name in (DESCRIPTION, PLAN):
        there = folder / name
        if there.exists():
            if there.read_text(encoding="utf-8") != text:
                raise FolderError(f"{folder} holds a pack of something else: choose another folder")
            return name == PLAN
    files.write(folder / PLAN, text)
    return True


def _pack_lot(
    folder: Path,
    number: int,
    some: Sequence[tuple[Photographs, int]],
    shorter: int,
    threads: Executor,
) -> None:
    found = list(threads.map(lambda one: _reduced(one[0], one[1], shorter), some))
    entries, start = [], 0
    for (images, place), (pixels, why) in zip(some, found, strict=True):
        entries.append(_entry(images, place, start, pixels, why))
        start += pixels.nbytes
    files.write(folder / _pixels(number), b"".join(pixels.tobytes() for pixels, _ in found))
    lines = json.dumps([asdict(entry) for entry in entries], ensure_ascii=False)
    files.write(folder / _index(number), lines)


def _reduced(images: Photographs, number: int, shorter: int) -> tuple[NDArray[np.uint8], str]:
    """The pixels of a photograph, or none and the reason."""
    album, place = images.album, int(images.places[number])
    try:
        return reduced_pixels(album.folder / album.names[place], shorter), ""
    except Unreadable as error:
        return np.empty((0, 0, 3), np.uint8), str(error)


def _entry(
    images: Photographs, number: int, start: int, pixels: NDArray[np.uint8], why: str
) -> Entry:
    album, place = images.album, int(images.places[number])
    return Entry(
        name=str(album.names[place]),
        label=int(images.labels[number]),
        size=int(album.sizes[place]),
        hash=album.hash(place),
        start=start,
        height=pixels.shape[0],
        width=pixels.shape[1],
        checksum=zlib.crc32(pixels.tobytes()),
        why=why,
    )


def described(folder: Path) -> dict[str, Any]:
    """What a finished pack says of itself."""
    if (folder / PLAN).exists():
        raise DataError(f"{folder} is not packed to its end: the same 'remanence pack' goes on")
    about = _read_json(folder / DESCRIPTION)
    if not isinstance(about, dict) or not {"data", "train", "test", "classes"} <= set(about):
        raise _no_pack(folder / DESCRIPTION)
    return about


def lots(folder: Path, count: int) -> Iterator[tuple[Path, list[Entry]]]:
    """The files of so many photographs, each with what is in it."""
    for number in range(-(-count // LOT)):
        pixels = folder / _pixels(number)
        try:
            entries = [Entry(**entry) for entry in _read_json(folder / _index(number))]
            length = sum(entry.height * entry.width * 3 for entry in entries)
            is_whole = pixels.stat().st_size == length
        except (OSError, TypeError):
            is_whole, entries = False, []
        if not is_whole:
            raise damaged(pixels)
        yield pixels, entries


def damaged(pixels: Path) -> DataError:
    """The one line that a lot which is not what it was comes to."""
    return DataError(f"{pixels} is damaged or gone: delete {pixels.parent} and pack it again")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise _no_pack(path) from None


def _no_pack(path: Path) -> DataError:
    return DataError(
        f"there is no {path.name} that can be read in {path.parent}: name a folder that "
        "'remanence pack' has made, or make it again"
    )


def _pixels(number: int) -> str:
    return f"{number:05}.pixels"


def _index(number: int) -> str:
    return f"{number:05}.json"
