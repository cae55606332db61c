"""A split of photographs into training and test images by what is in the files.

The hash of a file decides, so that a photograph stays on its side when others come, when it is
renamed, and on another machine; copies of it are on the same side. The sides are remembered in the
cache as well, because the last image that a small class needs on one side is taken from the other.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from remanence.core import files
from remanence.core.errors import DataError, FolderError
from remanence.core.json_text import parsed
from remanence.photographs.decode import content_hash
from remanence.photographs.scan import Classes, File

Hashes = Mapping[str, str]


def hashes(root: Path, names: Sequence[str], workers: int) -> dict[str, str]:
    """The hash of each file."""
    with ThreadPoolExecutor(workers) as threads:
        found = threads.map(content_hash, (root / name for name in names))
        return dict(zip(names, found, strict=True))


def split(root: Path, classes: Classes, known: Hashes, share: float) -> tuple[Classes, Classes]:
    """Training and test images of each class, about this share of them to test on."""
    memory = _Memory(root, share)
    train, test = {}, {}
    for name, photographs in classes.items():
        to_test = memory.to_test(name, sorted({known[file.name] for file in photographs}))
        test[name] = [file for file in photographs if known[file.name] in to_test]
        train[name] = [file for file in photographs if known[file.name] not in to_test]
    memory.write()
    return train, test


def copies(known: Hashes) -> list[str]:
    """The files that have the same bytes, as lines `this = that`."""
    seen: dict[str, list[str]] = {}
    for name, hashed in known.items():
        seen.setdefault(hashed, []).append(name)
    return [" = ".join(names) for names in seen.values() if len(names) > 1]


def of_equal_size(classes: Sequence[Classes]) -> Iterator[str]:
    """The files that another one may be a copy of."""
    by_size: dict[int, list[File]] = {}
    for one in classes:
        for photographs in one.values():
            for file in photographs:
                by_size.setdefault(file.size, []).append(file)
    return (file.name for alike in by_size.values() if len(alike) > 1 for file in alike)


class _Memory:
    """On which side the photographs of a folder were before."""

    def __init__(self, root: Path, share: float) -> None:
        key = hashlib.blake2b(f"{root.resolve()}\0{share}".encode(errors="surrogatepass"))
        self._file = files.cache_folder() / "splits" / f"{key.hexdigest()[:20]}.json"
        self._share = share
        self._tested: dict[str, bool] = {}
        # Where it is not there, or damaged, it is as if it were new.
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            self._tested = dict(parsed(self._file.read_text(encoding="utf-8"))["tested"])

    def to_test(self, name: str, hashed: Sequence[str]) -> set[str]:
        """Those of a class's photographs, by hash, that are to be tested on."""
        if len(hashed) < 2:
            raise DataError(
                f"class '{name}' has {len(hashed)} photograph{'s' * (len(hashed) != 1)} that can "
                "be read; to learn and to test takes two that differ: add some, or take it away"
            )
        for one in hashed:
            self._tested.setdefault(one, int(one, 16) < self._share * 16 ** len(one))
        if not any(self._tested[one] for one in hashed):
            self._tested[hashed[0]] = True
        if all(self._tested[one] for one in hashed):
            self._tested[hashed[-1]] = False
        return {one for one in hashed if self._tested[one]}

    def write(self) -> None:
        """Remember; where that cannot be, the hashes alone decide again."""
        with contextlib.suppress(FolderError):
            files.make_folder(self._file.parent)
            files.write(self._file, json.dumps({"tested": self._tested}, sort_keys=True) + "\n")
