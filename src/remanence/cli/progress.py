"""Progress of a run in the terminal: a bar with an ETA, or plain lines where there is none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from remanence.core.progress import Progress


@contextmanager
def watching(quiet: bool, unit: str = "steps") -> Iterator[Progress]:
    """Something that shows progress on standard error, unless nothing is to be shown."""
    if quiet:
        yield Progress()
    elif not sys.stderr.isatty():
        yield _Lines()
    else:
        with new_bar(unit) as bar:
            yield _Shown(bar)


def new_bar(unit: str) -> Bar:
    """A bar on standard error with count, elapsed time and ETA."""
    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


class _Lines(Progress):
    def doing(self, what: str) -> None:
        print(what, file=sys.stderr, flush=True)

    def said(self, line: str) -> None:
        self.doing(line)


class _Shown(Progress):
    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=None)

    def planned(self, steps: int) -> None:
        self._bar.update(self._task, total=steps)

    def doing(self, what: str) -> None:
        self._bar.update(self._task, description=what)

    def stepped(self, steps: int = 1) -> None:
        self._bar.advance(self._task, steps)

    def said(self, line: str) -> None:
        self._bar.console.print(line)
