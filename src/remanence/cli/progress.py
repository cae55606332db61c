"""Progress of a run in the terminal: a bar with an ETA, or plain lines where there is none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from remanence.grid.jobs import Job, Workers
    from remanence.records import Record


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


def running_all(
    jobs: Sequence[Job],
    workers: Workers,
    quiet: bool,
    finished: Callable[[Job], None] = lambda job: None,
) -> list[list[Record]]:
    """Run many jobs with a bar of those that are over, or a line for each."""
    from remanence.core.errors import Interrupted
    from remanence.grid.jobs import run_all

    over = 0

    def seen(job: Job) -> None:
        nonlocal over
        over += 1
        finished(job)
        progress.stepped()
        progress.said(f"{over} of {len(jobs)}: {job.place.folder.name}")

    with watching(quiet, "runs") as progress:
        progress.planned(len(jobs))
        progress.doing(f"{len(jobs)} runs")
        try:
            return run_all(jobs, seen, workers)
        except Interrupted as error:
            error.args = (f"{error}; the same command goes on",)
            raise


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
