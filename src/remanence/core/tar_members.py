"""Files inside a .tar.gz, read in memory: nothing is ever extracted."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Collection
from pathlib import Path

from remanence.core.errors import DataError


def read_members(archive: Path, wanted: Collection[str], limit: int) -> dict[str, bytes]:
    """Those of the wanted members that are there; `limit` bounds what the archive unpacks to."""
    try:
        with gzip.open(archive) as stream:
            content = stream.read(limit + 1)
        if len(content) > limit:
            raise ValueError(f"it unpacks to more than {limit} bytes")
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            return {
                member.name.removeprefix("./"): _content(tar, member)
                for member in tar
                if member.isfile() and member.name.removeprefix("./") in wanted
            }
    except Exception as error:  # a damaged header makes tarfile stumble over anything at all
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"cannot read {archive} ({reason}): delete it and fetch it again") from None


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None, "asked for plain files only"
    return file.read()
