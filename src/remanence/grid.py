"""Many runs at once on this machine, each in a process of its own with one thread."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from remanence.core.errors import Interrupted, RemanenceError
from remanence.engine.run import Place, run
from remanence.experiment import Experiment
from remanence.records import Record


@dataclass(frozen=True)
class Job:
    """One run of a grid. `label` and `setting` say which row and which panel it belongs to."""

    label: str
    setting: str
    experiment: Experiment
    place: Place


def run_all(
    jobs: Sequence[Job], finished: Callable[[Job], None], workers: int | None = None
) -> list[list[Record]]:
    """Run every job; runs that were finished before are only read, those that were cut go on.

    Two torch processes with a thread on each core slow each other badly, so the experiments should
    have machine.threads=1; there is a worker for each core.
    """
    workers = min(workers or os.cpu_count() or 1, len(jobs))
    spawn = multiprocessing.get_context("spawn")
    with _signals_raise(), ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        futures = {pool.submit(_run, job.experiment.tree(), job.place): job for job in jobs}
        try:
            for future in as_completed(futures):
                future.result()
                finished(futures[future])
        except BaseException as error:
            _stop(list(futures))
            if isinstance(error, BrokenProcessPool):
                raise RemanenceError("a worker was killed (out of memory?); run it again") from None
            raise
    return [future.result() for future in futures]


def _run(tree: dict[str, Any], place: Place) -> list[Record]:
    """In a worker, which may not know the modules of the user's own choices yet."""
    return run(Experiment.of(tree), place)


def _stop(futures: Sequence[Future[list[Record]]]) -> None:
    """Ask the workers to save and stop, and start none of the waiting jobs."""
    for future in futures:
        future.cancel()
    for child in multiprocessing.active_children():
        child.terminate()


@contextmanager
def _signals_raise() -> Iterator[None]:
    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted("stopped as asked; every run is saved", number)

    before = {one: signal.signal(one, interrupt) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
