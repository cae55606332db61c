"""Many runs at once: what they are, and that all of them end, wherever they are computed."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn, Protocol

from remanence.core.errors import Interrupted, RemanenceError
from remanence.core.settings import encode
from remanence.engine.bases import chosen_signature
from remanence.engine.run import Place
from remanence.experiment import Experiment
from remanence.grid.worker import Answer
from remanence.records import Record

TRIES = 5  # with a worker; so many of them may be killed before a run is given up


@dataclass(frozen=True)
class Job:
    """One run of a grid. `label` and `setting` say which row and which panel it belongs to."""

    label: str
    setting: str
    experiment: Experiment
    place: Place


class Workers(Protocol):
    """Processes that run jobs, here or elsewhere."""

    def answers(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Answer]]:
        """The place of each job in the list with what it came to, as they end.

        A job whose worker dies goes on in another one. Closed early, all workers save and stop.
        """


def run_all(
    jobs: Sequence[Job], finished: Callable[[Job], None], workers: Workers
) -> list[list[Record]]:
    """Run every job; runs that were finished before are only read, those that were cut go on.

    One that fails holds no other up; what went wrong is said at the end.
    """
    turn = _in_turn(jobs)
    found: dict[int, list[Record]] = {}
    failed: dict[int, RemanenceError] = {}
    answers = workers.answers([jobs[number] for number in turn])
    with _signals_raise(), closing(answers):  # type: ignore[type-var]
        for place, answer in answers:
            if isinstance(answer, RemanenceError):
                failed[turn[place]] = answer
            else:
                found[turn[place]] = answer
                finished(jobs[turn[place]])
    if failed:
        _refuse({jobs[number].place.folder.name: failed[number] for number in sorted(failed)})
    return [found[number] for number in range(len(jobs))]


def died(times: int = TRIES) -> RemanenceError:
    """What a job comes to whose workers are killed again and again."""
    return RemanenceError(
        f"{times} workers were killed on it, one after another (out of memory?); "
        "the same command goes on"
    )


def _in_turn(jobs: Sequence[Job]) -> list[int]:
    """First one job for each base increment, so that all bases are trained side by side."""
    first: dict[str, int] = {}
    for number, job in enumerate(jobs):
        first.setdefault(_base(job.experiment), number)
    leading = list(first.values())
    return [*leading, *(number for number in range(len(jobs)) if number not in leading)]


def _base(experiment: Experiment) -> str:
    """Equal for jobs whose base increment is trained once; see `engine.bases`."""
    resolved = experiment.resolved()
    stream = resolved.stream
    base = (stream.sizes or (stream.base or 0,))[0]
    what = [encode(resolved.data), stream.order, base, chosen_signature(resolved, base)]
    return json.dumps(what, sort_keys=True)


def _refuse(failed: dict[str, RemanenceError]) -> NoReturn:
    (name, error), *others = failed.items()
    more = "".join(f"; {name}: {other}" for name, other in others)
    error.args = (f"{name}: {error}{more}", *error.args[1:])
    raise error


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
