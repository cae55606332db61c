"""What a picture shows: panels, one for each setting, of curves over several seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from remanence.core.errors import SettingsError
from remanence.metrics import Spread, Summary


@dataclass(frozen=True)
class Curve:
    """Accuracy against the number of known classes, or another such pair: a run for each seed."""

    label: str
    classes: tuple[float, ...]
    runs: tuple[tuple[float, ...], ...]

    @staticmethod
    def of(label: str, summaries: Sequence[Summary]) -> Curve:
        """The curve of the same experiment under several seeds."""
        classes = summaries[0].classes
        if any(summary.classes != classes for summary in summaries):
            raise SettingsError(
                f"the runs of '{label}' have not learned the same increments: "
                "finish the shorter ones, or leave them out"
            )
        return Curve(label, classes, tuple(summary.curve for summary in summaries))

    def spreads(self) -> list[Spread]:
        """Mean and deviation over the runs after each increment."""
        return [Spread.of(point) for point in zip(*self.runs, strict=True)]

    def means(self) -> list[float]:
        """The mean over the runs after each increment."""
        return [spread.mean for spread in self.spreads()]


@dataclass(frozen=True)
class Panel:
    """The curves of one setting, drawn into one pair of axes."""

    title: str
    curves: tuple[Curve, ...]

    def ticks(self) -> list[float]:
        """Numbers of classes to write at the axis: first, last, and at most four between."""
        known = sorted({classes for curve in self.curves for classes in curve.classes})
        stride = max(1, math.ceil((len(known) - 1) / 5))
        chosen = known[::stride]
        chosen[-1] = known[-1]
        return chosen
