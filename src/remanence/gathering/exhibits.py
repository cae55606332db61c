"""What of a run only its network and its images can tell, where both are at hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from remanence.core.errors import RemanenceError
from remanence.core.progress import Progress
from remanence.engine.reopen import Reopened, reopen
from remanence.gathering.kept import kept_images
from remanence.gathering.neighbours import neighbourhoods
from remanence.gathering.removal import removal
from remanence.report.exhibit import Exhibits, Missing

T = TypeVar("T")


def gather(folder: Path, progress: Progress) -> Exhibits:
    """Everything that can be had; what cannot says why."""
    try:
        progress.doing(f"{folder}: reading the data")
        run = reopen(folder)
    except RemanenceError as error:
        return Exhibits.missing(f"Not shown: {error}.")

    def found(what: str, of: Callable[[Reopened], T | Missing]) -> T | Missing:
        progress.doing(f"{folder}: {what}")
        try:
            return of(run)
        except RemanenceError as error:
            return Missing(f"Not shown: {error}.")

    return Exhibits(
        kept=found("kept images", kept_images),
        neighbours=found("neighbours", neighbourhoods),
        removal=found("momentum", removal),
    )
