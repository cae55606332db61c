"""A run folder as it is read by those who did not write it. Needs no torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.core import archive
from remanence.core.errors import FolderError
from remanence.core.json_text import parsed

DESCRIPTION = Path("experiment.json")
_AGAIN = "delete this file, and the command of the run writes it again"

Predictions = dict[str, NDArray[np.int16]]


def predictions_file(folder: Path, increment: int) -> Path:
    """Where the predictions after an increment are, and its record."""
    return folder / "predictions" / f"{increment:03}.safetensors"


def described(content: Mapping[str, Any]) -> str:
    """The text of experiment.json, with a hash by which damage is noticed."""
    return json.dumps({**content, "hash": _hash(content)}, indent=2) + "\n"


def read_experiment(folder: Path) -> dict[str, Any]:
    """What a run folder says of its experiment: recipe, chosen, resolved."""
    if not (folder / DESCRIPTION).exists():
        raise FolderError(f"{folder} is not a run folder: it has no {DESCRIPTION}")
    return read_description(folder / DESCRIPTION)


def read_description(path: Path) -> dict[str, Any]:
    """The same by the file that says it."""
    try:
        kept = parsed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FolderError(f"cannot read {path}: {error}; {_AGAIN}") from None
    if not isinstance(kept, dict) or not {"recipe", "chosen", "resolved"} <= set(kept):
        raise FolderError(f"{path} does not describe an experiment; {_AGAIN}")
    if not all(isinstance(kept[part], dict) for part in ("chosen", "resolved")):
        raise FolderError(f"{path} does not describe an experiment; {_AGAIN}")
    if kept.pop("hash", None) not in (None, _hash(kept)):
        raise FolderError(f"{path} is not as it was written; {_AGAIN}")
    return kept


def _hash(content: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()


def read_log(folder: Path) -> list[dict[str, Any]]:
    """What happened when; lines that a crash has cut are left out, and so is a log that is gone."""
    if not (folder / "log.jsonl").is_file():  # or a device, which might be read for ever
        return []
    try:
        lines = (folder / "log.jsonl").read_text("utf-8", errors="replace").splitlines()
    except OSError as error:
        raise FolderError(f"cannot read {folder / 'log.jsonl'}: {error}") from None
    found = [_event(line) for line in lines]
    return [event for event in found if event is not None]


def read_predictions(folder: Path, increment: int) -> Predictions | None:
    """The class that every reading gave each test image, and their labels, if they were kept."""
    path = predictions_file(folder, increment)
    if not path.exists():
        return None
    kept = archive.load_arrays(path)
    told = kept.items() if isinstance(kept, dict) else ()
    named = {name: one for name, one in told if isinstance(one, np.ndarray)}
    if len({len(one) for one in named.values()}) != 1 or "labels" not in named:
        raise FolderError(f"{path} holds no predictions of a run; delete it to go on without it")
    return named


def _event(line: str) -> dict[str, Any] | None:
    try:
        event = parsed(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
