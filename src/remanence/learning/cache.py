"""Features that were computed before, by the hash of the file and of what made them.

A learner that was cut goes on where it stood, and the same photograph is never looked at twice. It
can all be had again: where the cache cannot be read or written, it is as if it were empty.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from remanence.backbones.base import Trunk
from remanence.core import files
from remanence.core.errors import FolderError
from remanence.core.settings import encode
from remanence.model.description import Preprocessing

TABLE = "CREATE TABLE IF NOT EXISTS seen (hash TEXT PRIMARY KEY, features BLOB) WITHOUT ROWID"
AT_ONCE = 500  # hashes in one question; there is a limit to how many it may have
PATIENCE = 10  # seconds that another process may write

T = TypeVar("T")


class FeatureCache:
    """The features that one trunk makes of photographs that are prepared in one way."""

    def __init__(self, trunk: Trunk, preprocessing: Preprocessing) -> None:
        digest = hashlib.blake2b(json.dumps(encode(preprocessing)).encode(), digest_size=16)
        for part in _identity(trunk):
            digest.update(part)
        self.path = files.cache_folder() / "features" / f"{digest.hexdigest()}.sqlite"
        self._width = trunk.width

    def find(self, hashes: Sequence[str]) -> dict[str, Tensor]:
        """The features that are there, by the hash of the photograph."""

        def look(store: sqlite3.Connection) -> dict[str, Tensor]:
            rows = (row for some in _lots(hashes) for row in store.execute(*_question(some)))
            found = {hashed: _row(content) for hashed, content in rows}
            return {hashed: row for hashed, row in found.items() if len(row) == self._width}

        return self._with_store(look) or {}

    def add(self, features: Mapping[str, Tensor]) -> None:
        """Remember these; whoever is killed in between leaves all of them or none."""
        content = [
            (hashed, row.numpy().astype("<f4").tobytes()) for hashed, row in features.items()
        ]
        insert = "INSERT OR REPLACE INTO seen VALUES (?, ?)"
        self._with_store(lambda store: store.executemany(insert, content))

    def _with_store(self, use: Callable[[sqlite3.Connection], T]) -> T | None:
        """What `use` comes to in one transaction; None where the store is of no use."""
        with contextlib.suppress(sqlite3.Error, FolderError, ValueError):
            files.make_folder(self.path.parent)
            with contextlib.closing(sqlite3.connect(self.path, timeout=PATIENCE)) as store, store:
                store.execute(TABLE)
                return use(store)
        return None


def _lots(hashes: Sequence[str]) -> Iterator[Sequence[str]]:
    return (hashes[start : start + AT_ONCE] for start in range(0, len(hashes), AT_ONCE))


def _question(hashes: Sequence[str]) -> tuple[str, Sequence[str]]:
    return f"SELECT * FROM seen WHERE hash IN ({','.join('?' * len(hashes))})", hashes


def _identity(trunk: Trunk) -> Iterator[bytes]:
    """What its features depend on: shape, code and weights."""
    yield repr(trunk).encode()
    for source in sorted({inspect.getfile(type(module)) for module in trunk.modules()}):
        yield Path(source).read_bytes()
    for name, tensor in trunk.state_dict().items():
        yield name.encode()
        yield tensor.detach().cpu().contiguous().numpy().tobytes()


def _row(content: bytes) -> Tensor:
    return torch.from_numpy(np.frombuffer(content, "<f4").astype(np.float32))
