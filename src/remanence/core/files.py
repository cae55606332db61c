"""Files that are either whole or not there: written beside, synced, and renamed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from remanence.core.errors import FolderBusy, FolderError

UNFINISHED = ".part"


def write(path: Path, content: bytes | str) -> None:
    """Put `content` at `path`; a crash at any moment leaves the old file or the new one."""
    with tried(path, content):
        pass


@contextlib.contextmanager
def tried(path: Path, content: bytes | str) -> Iterator[Path]:
    """Write `content` beside `path`, where it may be tried before it takes that name.

    Where the block raises, what was written is gone and what was at `path` stays.
    """
    with _said_in_one_line(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=UNFINISHED)
    beside = Path(name)
    try:
        with _said_in_one_line(path):
            with os.fdopen(handle, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(beside, 0o666 & ~_umask())
        yield beside
        with _said_in_one_line(path):
            os.replace(beside, path)
            _sync_folder(path.parent)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def _said_in_one_line(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from None


def append(path: Path, line: str) -> None:
    """Add a line at the end of a file; a crash may leave half of it: see `end_line`."""
    with _said_in_one_line(path), path.open("ab", buffering=0) as file:
        written = file.write(line.encode())
        if written < len(line.encode()):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def end_line(path: Path) -> None:
    """End the line in which a crash has left a file, so that the next one stands by itself."""
    with _said_in_one_line(path):
        if path.exists() and path.stat().st_size:
            with path.open("rb+") as file:
                file.seek(-1, os.SEEK_END)
                if file.read() != b"\n":
                    file.write(b"\n")


def move(path: Path, to: Path) -> None:
    """Rename a file; at any moment it is there by one of the names."""
    with _said_in_one_line(to):
        os.replace(path, to)
        _sync_folder(to.parent)


def remove(path: Path) -> None:
    """Delete a file, if it is there."""
    with _said_in_one_line(path):
        path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder and its parents, or say in one line why it cannot be."""
    with _said_in_one_line(path):
        path.mkdir(parents=True, exist_ok=True)


def cache_folder() -> Path:
    """Where what can be had again is kept for this user."""
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (chosen if chosen.is_absolute() else Path(os.path.expanduser("~/.cache"))) / "remanence"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; a second process is refused, and a kill frees it.

    Nobody else can be writing here, so the unfinished files that a kill left behind are removed.
    """
    path = folder / "lock"
    try:
        file = path.open("w")
    except OSError as error:
        raise cannot_write(path, error) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise FolderBusy(
                f"another process is running in {folder}: wait for it, or choose another folder"
            ) from None
        for unfinished in folder.rglob(f".*{UNFINISHED}"):
            remove(unfinished)
        yield


@contextlib.contextmanager
def reserved(path: Path, while_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the name of a file that is to be made; whoever else wants it waits until it is let go.

    The lock is a file beside it, which is gone when nobody holds it; a kill frees it too.
    """
    lock = path.with_name(f"{path.name}.lock")
    while (file := _taken(lock)) is None:
        while_waiting()
        time.sleep(0.1)
    with file:
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _taken(lock: Path) -> IO[str] | None:
    """The lock, held; None where another process holds it, or has just removed what we opened."""
    try:
        file = lock.open("w")
    except OSError as error:
        raise cannot_write(lock, error) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(lock.stat(), os.fstat(file.fileno())):
            return file
    except OSError:
        pass  # held, or not there any more
    file.close()
    return None


def cannot_write(path: Path, error: OSError) -> FolderError:
    """The one line that a failed write comes to."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    advice = "free some space, and run it again" if is_full else "choose another folder"
    return FolderError(f"cannot write {path}: {error.strerror or error}; {advice}")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
