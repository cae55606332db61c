"""Disks that are full or may only be read."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faults.subject import Subject
from faults.tally import Tally


def full(subject: Subject, count: int, where: Path, tally: Tally, chance: random.Random) -> None:
    """The disk is full after so many bytes; then there is space again."""
    size = sum(file.stat().st_size for file in subject.undisturbed.rglob("*")) * 2
    for number in range(count):
        space = chance.randrange(4096, size)
        kind = "a disk that is full" if may_mount() else "files that may not grow"
        with tally.watched(kind), _small_disk(where / f"full-{number}", space) as disk:
            limit = None if may_mount() else space // 8
            end = subject.done(disk / "run", "--save-every", "0", largest_file=limit)
            if end.code != 0:
                assert end.refused and "free some space" in end.last, end.last
                assert not list(disk.rglob(".*.part")), "something half-written is left"
                _enlarge(disk)
                again = subject.done(disk / "run")
                assert again.code == 0, again.last
            assert subject.same(disk / "run"), "the end differs"
            tally.count(kind, "refused" if end.code else "survived")


def read_only(subject: Subject, count: int, where: Path, tally: Tally) -> None:
    """The folder of a run may only be read; then it may be written again."""
    kind = "a folder that may only be read"
    if not may_mount() and os.geteuid() == 0:
        return  # nothing is read-only for root, and this one may mount nothing
    for number in range(count):
        with tally.watched(kind), _small_disk(where / f"read-{number}", 2**24) as disk:
            run = disk / "run"
            run.mkdir()
            if number % 2:
                process = subject.start(run, "--save-every", "0")
                process.process.join(0.3)
                process.killed()
            with _only_read(disk):
                end = subject.done(run)
            assert end.refused and "another folder" in end.last, end.last
            assert subject.done(run).code == 0
            assert subject.same(run), "the end differs"
            tally.count(kind, "refused")


def may_mount() -> bool:
    """Whether this process may have small disks of its own."""
    return os.geteuid() == 0 and _command("unshare", "--mount", "true")


@contextmanager
def _small_disk(at: Path, size: int) -> Iterator[Path]:
    at.mkdir(parents=True)
    mounted = may_mount() and _command(
        "mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(at)
    )
    try:
        yield at
    finally:
        if mounted:
            _command("umount", "--lazy", str(at))


def _enlarge(disk: Path) -> None:
    if may_mount():
        assert _command("mount", "-o", f"remount,size={2**26}", str(disk))


@contextmanager
def _only_read(disk: Path) -> Iterator[None]:
    if may_mount():
        assert _command("mount", "-o", "remount,ro", str(disk))
        yield
        assert _command("mount", "-o", "remount,rw", str(disk))
        return
    folders = [disk, *(one for one in disk.rglob("*") if one.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    try:
        yield
    finally:
        for folder in folders:
            folder.chmod(0o700)


def _command(*words: str) -> bool:
    return subprocess.run(words, capture_output=True, check=False).returncode == 0
