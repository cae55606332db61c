"""A run folder as it is read by those who did not write it. Needs no torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.core import archive
from remanence.core.errors import FolderError

Predictions = dict[str, NDArray[np.int16]]


def read_experiment(folder: Path) -> dict[str, Any]:
    """What a run folder says of its experiment: recipe, chosen, resolved."""
    path = folder / "experiment.json"
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FolderError(f"{folder} is not a run folder: it has no experiment.json") from None
    except (OSError, ValueError) as error:
        raise FolderError(f"cannot read {path}: {error}; delete the folder") from None
    if not isinstance(kept, dict) or not {"recipe", "chosen", "resolved"} <= set(kept):
        raise FolderError(f"{path} does not describe an experiment; delete the folder")
    return kept


def read_log(folder: Path) -> list[dict[str, Any]]:
    """What happened when; lines that a crash has cut are left out, and so is a log that is gone."""
    try:
        lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise FolderError(f"cannot read {folder / 'log.jsonl'}: {error}") from None
    found = [_event(line) for line in lines]
    return [event for event in found if event is not None]


def read_predictions(folder: Path, increment: int) -> Predictions | None:
    """The class that every reading gave each test image, and their labels, if they were kept."""
    path = folder / "predictions" / f"{increment:03}.safetensors"
    if not path.exists():
        return None
    named = archive.load_arrays(path)
    whole = isinstance(named, dict) and all(isinstance(one, np.ndarray) for one in named.values())
    if not whole or len({len(one) for one in named.values()}) != 1 or "labels" not in named:
        raise FolderError(f"{path} holds no predictions of a run; delete it to go on without it")
    return dict(named)


def _event(line: str) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
