"""What a page says of a model of photographs, section by section, ready to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remanence.core.settings import encode
from remanence.model.description import Description, KnownClass, Measured
from remanence.report.account import flat
from remanence.report.chart import Chart, line_chart
from remanence.report.confusion import (
    Counts,
    Mistake,
    Side,
    most_frequent,
    old_and_new,
    usual_mistakes,
)
from remanence.report.exhibit import Kept, Missing
from remanence.report.page import render
from remanence.report.panel import Curve, Panel

FREQUENT = 12


@dataclass(frozen=True)
class ClassRow:
    """A class: when it was learned, how well it was known then and is now."""

    known: KnownClass
    now: float | None
    kept: int
    taken_for: str
    taken_share: float

    @property
    def first(self) -> float | None:
        """When it was learned."""
        return self.known.remembered.get(min(self.known.remembered, default=0))

    @property
    def best(self) -> float | None:
        """In any version."""
        return max(self.known.remembered.values(), default=None)

    @property
    def lost(self) -> float | None:
        """By how many points it is below its best."""
        return None if self.best is None or self.now is None else self.best - self.now


@dataclass(frozen=True)
class ModelView:
    """A model: all versions that it still has, the oldest first, and the one in use.

    counts: what is taken for what among the held-out photographs. missing: why that is not known.
    """

    folder: Path
    now: Description
    versions: tuple[Description, ...]
    counts: Counts | None
    missing: str = ""

    @property
    def charts(self) -> list[Chart]:
        """Accuracy and forgetting by version."""
        parts = {"all classes": "all", "old classes": "old", "new classes": "new"}
        accuracy = [self._curve(label, name) for label, name in parts.items()]
        lost = [self._curve("old classes", "forgotten")]
        titled = (("Accuracy", accuracy), ("Forgotten since the version before", lost))
        panels = [Panel(t, tuple(c for c in curves if c.classes)) for t, curves in titled]
        return [line_chart(panel, "version") for panel in panels if panel.curves]

    def _curve(self, label: str, name: str) -> Curve:
        told = [(one.version, _figure(one.measured, name)) for one in self.versions]
        known = [(version, value) for version, value in told if value is not None]
        runs = tuple(value for _, value in known)
        return Curve(label, tuple(version for version, _ in known), (runs,))

    @property
    def learned_in(self) -> list[int]:
        """The versions in which classes were first learned."""
        return sorted({one.version for one in self.now.classes})

    @property
    def matrix(self) -> list[tuple[int, list[float | None]]]:
        """Of each version, how well the classes of each are known."""
        told = sorted({version for one in self.now.classes for version in one.remembered})
        return [
            (version, [self._known(version, since) for since in self.learned_in])
            for version in told
        ]

    def _known(self, version: int, since: int) -> float | None:
        some = [one.remembered.get(version) for one in self.now.classes if one.version == since]
        known = [one for one in some if one is not None]
        return sum(known) / len(known) if known else None

    @property
    def sides(self) -> tuple[Side, Side]:
        """The classes that came last, and those before."""
        assert self.counts is not None
        old = sum(one.version < self.learned_in[-1] for one in self.now.classes)
        return old_and_new(self.counts, old)

    @property
    def mistakes(self) -> list[tuple[str, str, Mistake]]:
        """The commonest ones, with names."""
        names = self.now.names
        found = [] if self.counts is None else most_frequent(self.counts, FREQUENT)
        return [(names[one.true], names[one.taken_for], one) for one in found]

    @property
    def classes(self) -> list[ClassRow]:
        """A row for each class."""
        usual: Sequence[Mistake | None] = [None] * len(self.now.classes)
        if self.counts is not None:
            usual = usual_mistakes(self.counts)
        kept = [one.label for one in self.now.kept]
        return [
            ClassRow(
                known=one,
                now=one.remembered.get(self.now.version),
                kept=kept.count(label),
                taken_for=self.now.names[wrong.taken_for] if wrong else "",
                taken_share=wrong.share if wrong else 0.0,
            )
            for label, (one, wrong) in enumerate(zip(self.now.classes, usual, strict=True))
        ]

    @property
    def kept_bytes(self) -> int:
        """How much room the kept photographs take."""
        return sum(one.bytes for one in self.now.kept)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What it is made of, and by what."""
        now, seen = self.now, self.now.preprocessing
        network = ", ".join(f"{key} {value}" for key, value in now.backbone.items())
        return [
            ("network", network),
            ("it sees", f"{seen.side} x {seen.side} pixels, the middle {seen.centre:.1%} of each"),
            ("temperature", f"{now.temperature:.3g}, so that probabilities are calibrated"),
            ("keeps", str(now.settings.get("keep", "nothing"))),
            ("made", now.made),
            *((f"made by {name}", version) for name, version in now.software.items()),
        ]

    @property
    def settings(self) -> list[tuple[str, Any]]:
        """Everything that was in force."""
        told = {name: getattr(self.now, name) for name in ("backbone", "transform", "settings")}
        return list(flat({**told, "preprocessing": encode(self.now.preprocessing)}))


def _figure(measured: Measured, name: str) -> float | None:
    value: float | None = getattr(measured, name)
    return value


def model_page(view: ModelView, kept: tuple[Kept, ...] | Missing) -> str:
    """The page of a model, as text."""
    title = view.folder.resolve().name
    return render("model.html", title=title, view=view, now=view.now, kept=kept)
