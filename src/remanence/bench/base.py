"""What a benchmark is: one question about speed or memory, answered in rows of a table.

A benchmark sets two sides against each other on the same machine in the same minute; what it comes
to is a ratio. Seconds alone say more about the machine than about the program.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Self

import torch

from remanence.core.progress import Progress
from remanence.core.settings import Choice, settings
from remanence.data.base import Splits


@dataclass(frozen=True)
class Spread:
    """The median of some measurements, and the quartiles around it."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, found: list[float]) -> Self:
        """That of these.

        >>> Spread.of([3.0, 1.0, 2.0])
        Spread(median=2.0, low=1.5, high=2.5, count=3)
        """
        if len(found) == 1:
            return cls(found[0], found[0], found[0], 1)
        low, middle, high = quantiles(found, n=4, method="inclusive")
        return cls(middle, low, high, len(found))

    def times(self, factor: float) -> Spread:
        """The same in another unit, or of more or less work."""
        parts = (self.median * factor, self.low * factor, self.high * factor)
        return Spread(*parts, count=self.count)


@dataclass(frozen=True)
class Target:
    """What is wanted of a row: a limit, and on which side of it."""

    limit: float
    at_most: bool = True

    def met_by(self, value: float) -> bool:
        """Whether it is."""
        return value <= self.limit if self.at_most else value >= self.limit


def at_most(limit: float) -> Target:
    """No more than this."""
    return Target(limit)


def at_least(limit: float) -> Target:
    """No less than this."""
    return Target(limit, at_most=False)


@dataclass(frozen=True)
class Row:
    """One line of the table.

    what, value, unit: what was measured. against, ratio: the other side, and this one in parts of
    it. target: of the ratio, or of the value where there is none. note: what a reader must know.
    """

    what: str
    value: Spread
    unit: str
    against: str = ""
    ratio: Spread | None = None
    target: Target | None = None
    note: str = ""

    @property
    def is_met(self) -> bool | None:
        """Whether it is as wanted, where something is."""
        judged = self.value if self.ratio is None else self.ratio
        return self.target.met_by(judged.median) if self.target else None


@dataclass(frozen=True)
class Bench:
    """What all benchmarks work with.

    is_real: whether the images are CIFAR-100; else they are made, of the same sizes.
    quick: whether a first impression is enough. repeat: turns of each side, if they were chosen.
    folder: for what is written meanwhile.
    """

    splits: Splits
    is_real: bool
    device: torch.device
    quick: bool
    repeat: int | None
    folder: Path
    progress: Progress

    def turns(self, usual: int) -> int:
        """How often each side has its turn."""
        return self.repeat or (2 if self.quick else usual)


@settings
class Benchmark(Choice):
    """One question, answered in rows."""

    @abstractmethod
    def rows(self, bench: Bench) -> Iterator[Row]:
        """Measure, and say what it came to."""


BASE = Benchmark
