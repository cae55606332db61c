"""Workers on a cluster, through Ray; run folders are on a file system that all nodes share.

Ray places each run where there is room, and starts it again elsewhere when its worker or its node
dies. All that a run needs to go on is in its folder, so that it does, with the same bits.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from remanence.core import files
from remanence.core.errors import FolderBusy, Interrupted, RemanenceError
from remanence.engine.run import Place
from remanence.grid.jobs import TRIES, Job, died
from remanence.grid.worker import Answer, answer

PATIENCE = 180.0  # seconds; a file system may keep the lock of a dead node for so long
TIME_TO_SAVE = 60.0
TIME_TO_ANSWER = 10.0


@dataclass(frozen=True)
class OnRay:
    """A task of Ray for each job.

    address: of the cluster; open, the one that RAY_ADDRESS or this machine knows, or a new one of
    this machine alone. threads: processors for each run; open, one, or a GPU's share of them.
    per_gpu: runs that share a GPU. on_cpu: whether GPUs are left alone.
    """

    address: str | None = None
    threads: int | None = None
    per_gpu: int = 1
    on_cpu: bool = False

    def answers(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Answer]]:
        """See `Workers`."""
        with _joined(self.address) as ray:
            task, threads = self._task(ray)
            pending = {
                task.remote(job.experiment.tree(), _absolute(job.place), threads, _here()): number
                for number, job in enumerate(jobs)
            }
            try:
                while pending:
                    done = _next(ray, list(pending))
                    yield pending.pop(done), _answer_of(ray, done)
            finally:
                _dismiss(ray, list(pending))

    def _task(self, ray: ModuleType) -> tuple[Any, int]:
        """The task, and the threads that it has."""
        there_are = ray.cluster_resources()
        gpus = 0.0 if self.on_cpu else there_are.get("GPU", 0.0)
        share = there_are.get("CPU", 1.0) // (gpus * self.per_gpu) if gpus else 1
        threads = self.threads or max(1, int(share))
        task = ray.remote(_live).options(
            num_cpus=threads,
            num_gpus=1 / self.per_gpu if gpus else 0,
            max_retries=TRIES - 1,
            retry_exceptions=[Interrupted],
        )
        return task, threads


@dataclass(frozen=True)
class _Surroundings:
    """Of the one who asks: where, and what to import from."""

    folder: Path
    path: tuple[str, ...]
    data: str | None


def _here() -> _Surroundings:
    return _Surroundings(Path.cwd(), tuple(sys.path), os.environ.get("REMANENCE_DATA"))


def _absolute(place: Place) -> Place:
    """The place as other machines know it; its folder is made, so that they can see it."""
    files.make_folder(place.folder)
    bases = place.bases.absolute() if place.bases else None
    return replace(place, folder=place.folder.absolute(), bases=bases)


def _live(tree: dict[str, Any], place: Place, threads: int, asker: _Surroundings) -> Answer:
    """In a worker, on whatever node."""
    if not place.folder.is_dir():
        return RemanenceError(
            f"node {os.uname().nodename} does not see {place.folder}: "
            "--runs must be on a file system that all nodes share"
        )
    os.chdir(asker.folder)
    sys.path += [folder for folder in asker.path if folder not in sys.path]
    if asker.data is not None:
        os.environ["REMANENCE_DATA"] = asker.data
    end = time.monotonic() + PATIENCE
    while isinstance(found := answer(tree, place, threads), FolderBusy) and time.monotonic() < end:
        time.sleep(2)  # its last worker is dead, but the file system does not know yet
    return found


def _next(ray: ModuleType, pending: Sequence[Any]) -> Any:
    try:
        return ray.wait(pending, num_returns=1)[0][0]
    except SystemError as error:  # in which Ray wraps what a signal has raised
        if isinstance(error.__cause__, Interrupted):
            raise error.__cause__ from None
        raise


def _answer_of(ray: ModuleType, done: Any) -> Answer:
    try:
        found: Answer = ray.get(done)
    except (Interrupted, ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError):
        return died()
    except ray.exceptions.OutOfMemoryError as error:
        return RemanenceError(f"there is not memory enough: {str(error).splitlines()[0]}")
    return found


def _dismiss(ray: ModuleType, pending: Sequence[Any]) -> None:
    """Ask the workers to save and stop, and wait until they have."""
    for one in pending:
        ray.cancel(one)
    if pending:
        ray.wait(pending, num_returns=len(pending), timeout=TIME_TO_SAVE)


@contextmanager
def _joined(address: str | None) -> Iterator[ModuleType]:
    """Ray, connected to the cluster for as long as this lasts."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to anybody
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # or it warns of a change
    try:
        import ray
    except ImportError:
        raise RemanenceError("--on ray needs Ray: pip install 'remanence[cluster]'") from None
    handlers = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        _reach(address)
        ray.init(
            address=address,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = address or os.environ.get("RAY_ADDRESS", "this machine's")
        raise RemanenceError(
            f"cannot join the Ray cluster at {where}: {str(error).splitlines()[0]}; "
            "say --on ray:ADDRESS, or start one with 'ray start --head'"
        ) from None
    try:
        for one, handler in handlers.items():
            signal.signal(one, handler)  # Ray has put its own there, under which nothing is saved
        with redirect_stdout(sys.stderr):  # where Ray tells of workers that died
            yield ray
    finally:
        ray.shutdown()


def _reach(address: str | None) -> None:
    """Raise an OSError where nobody listens; Ray itself would try for minutes, and loudly."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), TIME_TO_ANSWER).close()
