"""What must hold for any input: it is taken, or refused in one line by an error of ours."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from remanence.core.errors import RemanenceError
from remanence.photographs.decode import Unreadable

Check = Callable[[Path, Any], None]
LONGEST = 2000  # characters of a line that somebody is to read


@dataclass(frozen=True)
class Property:
    """Inputs of one kind, and what is done with each in a folder of its own.

    prepare: puts what the check needs into that folder, once.
    check: raises an error of ours where the input is refused; any other error is a failure.
    """

    name: str
    inputs: SearchStrategy[Any]
    check: Check
    prepare: Callable[[Path], object] = lambda folder: None


@dataclass(frozen=True)
class Found:
    """What so many inputs came to; the slowest in seconds of the processor."""

    taken: int
    refused: int
    slowest: float


def fuzz(one: Property, count: int, folder: Path, *, is_random: bool = False) -> Found:
    """Try so many inputs; an input that breaks the property is made small and raised."""
    one.prepare(folder)
    outcomes: Counter[str] = Counter()
    seconds = [0.0]

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=not is_random,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(one.inputs)
    def holds(value: Any) -> None:
        start = time.process_time()
        with _refused_in_one_line(outcomes):
            one.check(folder, value)
        seconds.append(time.process_time() - start)

    holds()
    return Found(outcomes["taken"], outcomes["refused"], max(seconds))


@contextmanager
def _refused_in_one_line(outcomes: Counter[str]) -> Any:
    try:
        yield
    except (RemanenceError, Unreadable) as error:
        outcomes["refused"] += 1
        check_line(str(error))
    else:
        outcomes["taken"] += 1


def check_line(line: str) -> None:
    """It is one line that can be read."""
    assert line and len(line.splitlines()) == 1, line
    assert len(line) < LONGEST, f"{len(line)} characters"
