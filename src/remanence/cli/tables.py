"""Tables on standard output: as wide as the terminal, and never cut where there is none."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console

WIDTH_IN_FILES = 160


def console() -> Console:
    """Where results are printed."""
    return Console(width=None if sys.stdout.isatty() else WIDTH_IN_FILES)


def heading(run: Path) -> str:
    """The name of a run, and what must be said of its method wherever its results are shown."""
    from remanence.core import choices

    described = run / "experiment.json"
    if not described.exists():
        return run.name
    method = json.loads(described.read_text(encoding="utf-8"))["resolved"]["method"]["name"]
    return f"{run.name} {choices.caveat('methods', method)}".strip()
