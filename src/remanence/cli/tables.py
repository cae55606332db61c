"""Tables on standard output: as wide as the terminal, and never cut where there is none."""

from __future__ import annotations

import sys

from rich.console import Console

WIDTH_IN_FILES = 160


def console() -> Console:
    """Where results are printed."""
    return Console(width=None if sys.stdout.isatty() else WIDTH_IN_FILES)
