"""Documents with places that the ledger fills, each mark on a line of its own:

<!-- ledger: WHAT -->  ...  <!-- end of ledger -->
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from remanence.core import files
from remanence.core.errors import FolderError

_BEGINS = re.compile(r"^<!-- ledger: ", re.MULTILINE)
_PLACE = re.compile(
    r"^(<!-- ledger: ([^\n]+?) -->\n).*?^(<!-- end of ledger -->)$", re.DOTALL | re.MULTILINE
)


def documents(folder: Path) -> list[Path]:
    """The Markdown files at any depth that have such a place."""
    return [path for path in sorted(folder.rglob("*.md")) if _BEGINS.search(_text(path))]


def filled(path: Path, said: Callable[[str], str]) -> str:
    """The text of a document as it should be; `said` tells what belongs in a place."""
    text = _text(path)
    if len(_PLACE.findall(text)) != len(_BEGINS.findall(text)):
        raise FolderError(f"{path}: a place for the ledger has no '<!-- end of ledger -->'")
    return _PLACE.sub(lambda found: f"{found[1]}\n{said(found[2])}\n\n{found[3]}", text)


def fill(path: Path, said: Callable[[str], str]) -> bool:
    """Write it; whether anything has changed."""
    new = filled(path, said)
    if new == _text(path):
        return False
    files.write(path, new)
    return True


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FolderError(f"cannot read {path}: {error}") from None
