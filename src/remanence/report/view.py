"""What a page says of one run, section by section, ready to be drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from remanence import metrics
from remanence.report.account import Account, flat
from remanence.report.chart import Drops, drops_chart
from remanence.report.confusion import (
    Counts,
    Mistake,
    Side,
    between_groups,
    counted,
    most_frequent,
    old_and_new,
    usual_mistakes,
)
from remanence.report.exhibit import Exhibits, Removal
from remanence.run_folder import Predictions, read_predictions

FREQUENT = 12


@dataclass(frozen=True)
class Heat:
    """A table of percentages, increments both ways; None where there is nothing yet."""

    title: str
    rows: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class ClassRow:
    """How a class fared: when it was learned, and at the end."""

    name: str
    increment: int
    tested: int
    first: float
    best: float
    last: float
    taken_for: str
    taken_share: float

    @property
    def lost(self) -> float:
        """By how many points it is below its best."""
        return self.best - self.last


@dataclass(frozen=True)
class RunView:
    """One run and what else can be shown of it."""

    account: Account
    exhibits: Exhibits

    @property
    def own(self) -> str:
        """The reading that the run itself is read by."""
        return self.account.readings[0]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many classes each increment brought."""
        return self.account.records[-1].group_sizes

    @property
    def old_classes(self) -> int:
        """How many classes came before the last increment."""
        return sum(self.sizes[:-1])

    @property
    def matrices(self) -> list[Heat]:
        """Accuracy after each increment (rows) on the classes of each (columns), by reading."""
        return [
            Heat(name, _square(metrics.accuracy_matrix(self.account.records, name)))
            for name in self.account.main_readings
        ]

    @cached_property
    def counts(self) -> dict[str, Counts]:
        """What is taken for what after the last increment, by reading; empty if it is not known."""
        last = self.account.records[-1]
        kept = read_predictions(self.account.folder, last.increment)
        classes = sum(self.sizes)
        if kept is None or not _fit(kept, classes):
            return {}
        labels = kept["labels"]
        named = [name for name in self.account.main_readings if name in kept]
        return {name: counted(labels, kept[name], classes) for name in named}

    @property
    def sides(self) -> list[tuple[str, Side, Side]]:
        """Old against new, for each reading."""
        return [(n, *old_and_new(counts, self.old_classes)) for n, counts in self.counts.items()]

    @property
    def between_increments(self) -> Heat | None:
        """Which increment's classes the images of each are taken for."""
        if self.own not in self.counts:
            return None
        rows = between_groups(self.counts[self.own], self.sizes)
        return Heat(self.own, tuple(tuple(row) for row in rows))

    @property
    def frequent_mistakes(self) -> list[tuple[str, str, Mistake]]:
        """The commonest ones, with names."""
        if self.own not in self.counts:
            return []
        names = self.account.class_names
        found = most_frequent(self.counts[self.own], FREQUENT)
        return [(names[one.true], names[one.taken_for], one) for one in found]

    @property
    def classes(self) -> list[ClassRow]:
        """A row for each class."""
        known = self.counts.get(self.own)
        usual = usual_mistakes(known) if known is not None else [None] * sum(self.sizes)
        ends = [0, *accumulate(self.sizes)]
        return [
            self._class_row(label, increment, usual[label])
            for increment, (first, end) in enumerate(pairwise(ends))
            for label in range(first, end)
        ]

    def _class_row(self, label: int, increment: int, mistake: Mistake | None) -> ClassRow:
        curve = [
            100 * record.readings[self.own][label] / record.tested[label]
            if record.tested[label]
            else math.nan
            for record in self.account.records[increment:]
        ]
        names = self.account.class_names
        return ClassRow(
            name=names[label],
            increment=increment,
            tested=self.account.records[-1].tested[label],
            first=curve[0],
            best=max(curve),
            last=curve[-1],
            taken_for=names[mistake.taken_for] if mistake else "",
            taken_share=mistake.share if mistake else 0.0,
        )

    @property
    def shifts(self) -> Drops | None:
        """What is taken from the logits, drawn."""
        found = self.exhibits.removal
        return drops_chart(found.classes) if isinstance(found, Removal) else None

    @property
    def shift_means(self) -> list[tuple[int, float, float]]:
        """The same as means over the classes of each increment."""
        found = self.exhibits.removal
        shifts = found.classes if isinstance(found, Removal) else ()
        means = []
        for increment in dict.fromkeys(one.increment for one in shifts):
            some = [one for one in shifts if one.increment == increment]
            before, after = (sum(c) for c in zip(*((s.before, s.after) for s in some), strict=True))
            means.append((increment, before / len(some), after / len(some)))
        return means

    @property
    def settings(self) -> list[tuple[str, Any]]:
        """Everything that was in force."""
        return list(flat(self.account.resolved))

    @property
    def learned(self) -> list[tuple[str, list[float | None]]]:
        """Numbers that the effects learned, after each increment."""
        records = self.account.records
        names = dict.fromkeys(name for record in records for name in record.learned)
        main = [name for name in names if name.count(".") == 1]
        return [(name, [record.learned.get(name) for record in records]) for name in main]

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Where, when and with what it was run."""
        account, around = self.account, self.account.surroundings
        seconds = account.seconds
        by_increment = ", ".join(f"{number}: {spent(s)}" for number, s in seconds.items())
        kept = account.records[-1].kept
        told = {
            "recipe": account.recipe,
            "seed": account.resolved.get("seed"),
            "class order": f"{account.resolved['stream'].get('order')} ({around.get('order')})",
            "increments": " + ".join(map(str, self.sizes)) + " classes",
            "kept images": f"{kept.get('images', 0)} ({kept.get('bytes', 0):,} bytes)",
            "data": f"{account.resolved['data'].get('name')} ({around.get('data')})",
            "training": f"{spent(sum(seconds.values()))} (increment {by_increment})"
            if seconds
            else None,
            "started": f"{account.starts} times" if account.starts > 1 else None,
            "remanence": account.version,
            "commit": around.get("commit"),
            "torch": around.get("torch"),
            "python": around.get("python"),
            "computed on": " ".join(
                str(around[key]) for key in ("device", "processor", "machine") if around.get(key)
            ),
            "precision": account.resolved.get("machine", {}).get("precision"),
        }
        return [(name, str(value)) for name, value in told.items() if value not in (None, "")]


def spent(seconds: float) -> str:
    """A duration as people say it.

    >>> spent(7322)
    '2 h 2 min'
    """
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _square(matrix: Sequence[Sequence[float]]) -> tuple[tuple[float | None, ...], ...]:
    width = len(matrix)
    return tuple((*row, *[None] * (width - len(row))) for row in matrix)


def _fit(kept: Predictions, classes: int) -> bool:
    """Whether these are predictions of so many classes."""
    return all(len(one) and one.min() >= 0 and one.max() < classes for one in kept.values())
