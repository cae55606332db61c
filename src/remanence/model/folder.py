"""The folder of a model: every version whole, and a pointer to the one in use.

    MODEL/current                    the number of the version in use
    MODEL/versions/0003/model.json   what it is: names, preprocessing, history, settings
                        trunk.safetensors, head.safetensors   what predicts
                        memory.safetensors                    what learning on from it needs
    MODEL/kept/HASH.jpg              photographs that are kept, shared by the versions

A version is written beside the others and renamed when it is complete; then the pointer is. A crash
at any moment leaves the version in use as it was.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from remanence.core import archive, files
from remanence.core.errors import FolderError
from remanence.model import tensors
from remanence.model.description import Description, as_json, read

DESCRIPTION = "model.json"
TRUNK, HEAD, MEMORY = "trunk.safetensors", "head.safetensors", "memory.safetensors"
UNFINISHED = "unfinished"


@dataclass(frozen=True)
class Content:
    """All that a version is made of.

    trunk, head: tensors of what predicts. memory: a tree that learning goes on from.
    kept: the bytes of new photographs to keep, by their hash.
    """

    description: Description
    trunk: Mapping[str, Tensor]
    head: Mapping[str, Tensor]
    memory: Mapping[str, Any]
    kept: Mapping[str, bytes]


@dataclass(frozen=True)
class ModelFolder:
    """A model on disk."""

    path: Path

    @property
    def exists(self) -> bool:
        """Whether a version was ever finished here."""
        return (self.path / "current").is_file()

    @property
    def current(self) -> int:
        """The number of the version in use."""
        try:
            text = (self.path / "current").read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            raise FolderError(
                f"{self.path} is no model: 'remanence learn {self.path} PHOTOS' makes one"
            ) from None
        if not re.fullmatch(r"[0-9]{1,9}", text):
            raise FolderError(f"{self.path / 'current'} is damaged: write a version's number there")
        return int(text)

    @property
    def versions(self) -> list[int]:
        """The numbers of all finished versions, the oldest first."""
        found = [one.name for one in self._versions.glob("[0-9]*") if one.is_dir()]
        return sorted(int(name) for name in found if name.isdecimal())

    def folder(self, version: int) -> Path:
        """Where a version is."""
        return self._versions / f"{version:04}"

    def describe(self, version: int | None = None) -> Description:
        """What a version says of itself; the one in use unless another is asked for."""
        number = self.current if version is None else version
        if not self.folder(number).is_dir():
            there = ", ".join(map(str, self.versions)) or "none"
            raise FolderError(f"{self.path} has no version {number}; there are: {there}")
        return read(self.folder(number) / DESCRIPTION)

    def kept_file(self, hashed: str) -> Path:
        """Where a photograph that is kept lies."""
        return self.path / "kept" / f"{hashed}.jpg"

    def memory(self, version: int) -> dict[str, Any]:
        """What learning goes on from."""
        return dict(archive.load(self.folder(version) / MEMORY))

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the folder for this process; what a kill left unfinished is removed."""
        files.make_folder(self._versions)
        files.make_folder(self.path / "kept")
        with files.locked(self.path):
            shutil.rmtree(self._versions / UNFINISHED, ignore_errors=True)
            yield

    def add(self, content: Content) -> None:
        """Write a version; it is not in use before `use` says so."""
        description = content.description
        for hashed, photograph in content.kept.items():
            if not self.kept_file(hashed).exists():
                files.write(self.kept_file(hashed), photograph)
        beside = self._versions / UNFINISHED
        files.make_folder(beside)
        before = self.folder(description.parent) if description.parent else None
        tensors.save(beside / TRUNK, content.trunk, like=before / TRUNK if before else None)
        tensors.save(beside / HEAD, content.head)
        archive.save(beside / MEMORY, content.memory)
        files.write(beside / DESCRIPTION, as_json(description))
        try:
            os.replace(beside, self.folder(description.version))
        except OSError as error:
            raise files.cannot_write(self.folder(description.version), error) from None

    def use(self, version: int) -> None:
        """From now on this version is the one in use."""
        self.describe(version)
        files.write(self.path / "current", f"{version}\n")

    def prune(self, leave: int) -> list[int]:
        """Delete all but the newest few versions and the one in use; the numbers that went."""
        stay = {self.current, *self.versions[max(0, len(self.versions) - leave) :]}
        gone = [number for number in self.versions if number not in stay]
        for number in gone:
            shutil.rmtree(self.folder(number))
        self.forget_photographs()
        return gone

    def forget_photographs(self) -> None:
        """Delete the photographs that no version keeps any more."""
        wanted = {one.hash for number in self.versions for one in self.describe(number).kept}
        for file in (self.path / "kept").glob("*.jpg"):
            if file.stem not in wanted:
                file.unlink(missing_ok=True)

    @property
    def _versions(self) -> Path:
        return self.path / "versions"


def hash_of(content: bytes) -> str:
    """The name that a photograph is kept under; as `photographs.decode.content_hash`."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()
