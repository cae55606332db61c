"""One file from the network: whole and with the right checksum, or not there."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError

from remanence.core import files
from remanence.core.errors import DataError
from remanence.core.progress import Progress

TIMEOUT_SECONDS = 30.0
CHUNK = 2**20


def fetch(url: str, target: Path, md5: str, progress: Progress) -> Path:
    """Bring a file to `target`; where the right one is already, nothing is done."""
    if _is_right(target, md5):
        return target
    files.make_folder(target.parent)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        received = _write(beside, _chunks(url, target, progress))
        if received != md5:
            raise DataError(
                f"{url} gave another file than expected (md5 {received}, not {md5}): try again, "
                f"or fetch the right one by hand and put it at {target}"
            )
        os.replace(beside, target)
    except OSError as error:
        raise files.cannot_write(target, error) from None
    finally:
        beside.unlink(missing_ok=True)
    return target


def _is_right(target: Path, md5: str) -> bool:
    try:
        with target.open("rb") as file:
            return hashlib.file_digest(file, _new_md5).hexdigest() == md5
    except OSError:
        return False


def _write(path: Path, chunks: Iterator[bytes]) -> str:
    digest = _new_md5()
    with path.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _chunks(url: str, target: Path, progress: Progress) -> Iterator[bytes]:
    """What the network gives; its errors end here, so that any other OSError is the disk's."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
            total = response.length
            progress.doing(f"downloading {target.name}")
            progress.planned(-(-(total or 0) // CHUNK))
            while chunk := response.read(CHUNK):
                yield chunk
                progress.stepped()
            if response.length:
                raise ConnectionError(f"it broke off {response.length} bytes before the end")
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise DataError(
            f"cannot download {url} ({_line(reason)}): try again, "
            f"or fetch it by hand and put it at {target}"
        ) from None


def _line(reason: object) -> str:
    return " ".join(str(reason).split()) or type(reason).__name__


def _new_md5() -> hashlib._Hash:
    return hashlib.md5(usedforsecurity=False)
