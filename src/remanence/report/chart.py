"""Where the lines of a chart go: geometry for a page, which draws and colours them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from remanence.report.exhibit import Shift
from remanence.report.panel import Curve, Panel

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 12, 42
HUES = 7


@dataclass(frozen=True)
class Point:
    """A mark, and what it says when it is pointed at."""

    x: float
    y: float
    told: str


@dataclass(frozen=True)
class Line:
    """A curve as it is drawn: marks, the path through them, the band of its deviation."""

    label: str
    hue: int
    dashes: str
    points: tuple[Point, ...]
    path: str
    band: str


@dataclass(frozen=True)
class Level:
    """A published figure: a level across the chart."""

    label: str
    hue: int
    y: float


@dataclass(frozen=True)
class Chart:
    """Lines over ticks; all positions are in a box of WIDTH x HEIGHT."""

    title: str
    across: str
    lines: tuple[Line, ...]
    levels: tuple[Level, ...]
    ticks_across: tuple[tuple[float, str], ...]
    ticks_up: tuple[tuple[float, str], ...]
    box: tuple[int, int, int, int] = (LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
    size: tuple[int, int] = (WIDTH, HEIGHT)


@dataclass(frozen=True)
class Drop:
    """Where a class stood, and where it stands."""

    x: float
    before: float
    after: float
    told: str


@dataclass(frozen=True)
class Stretch:
    """The classes of an increment, side by side."""

    x: float
    width: float
    label: str


@dataclass(frozen=True)
class Drops:
    """A drop for each class, in the order in which they were learned."""

    drops: tuple[Drop, ...]
    stretches: tuple[Stretch, ...]
    ticks_up: tuple[tuple[float, str], ...]
    box: tuple[int, int, int, int] = (LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
    size: tuple[int, int] = (WIDTH, HEIGHT)


def line_chart(panel: Panel, across: str, levels: Sequence[tuple[str, float]] = ()) -> Chart:
    """Curves of percentages; a level belongs to the curve that has its label."""
    spread = [one for curve in panel.curves for one in curve.spreads()]
    heights = [one.mean + side * (one.std or 0) for one in spread for side in (-1, 1)]
    heights += [height for _, height in levels]
    low, high = _round_range([height for height in heights if math.isfinite(height)])
    known = panel.ticks()
    place = _Place(known[0], known[-1], low, high)
    labels = [curve.label for curve in panel.curves]
    return Chart(
        title=panel.title,
        across=across,
        lines=tuple(_line(curve, number, place) for number, curve in enumerate(panel.curves)),
        levels=tuple(
            Level(label, labels.index(label) % HUES, place.up(height)) for label, height in levels
        ),
        ticks_across=tuple((place.across(classes), str(classes)) for classes in known),
        ticks_up=tuple((place.up(step), f"{step:g}") for step in _steps(low, high)),
    )


def drops_chart(shifts: Sequence[Shift]) -> Drops:
    """What is taken from the logit of each class."""
    heights = [height for one in shifts for height in (one.before, one.after)]
    margin = 0.05 * (max(heights) - min(heights)) or 1.0
    place = _Place(0, len(shifts), min(heights) - margin, max(heights) + margin)
    drops = tuple(
        Drop(
            place.across(number + 0.5),
            place.up(one.before),
            place.up(one.after),
            f"{one.name}: {one.before:.2f} → {one.after:.2f}",
        )
        for number, one in enumerate(shifts)
    )
    increments = [one.increment for one in shifts]
    stretches = []
    for increment in dict.fromkeys(increments):
        start = place.across(increments.index(increment))
        width = place.across(increments.index(increment) + increments.count(increment)) - start
        stretches.append(Stretch(start, round(width, 1), str(increment)))
    ticks = tuple((place.up(step), f"{step:.4g}") for step in _steps(place.low, place.high))
    return Drops(drops, tuple(stretches), ticks)


@dataclass(frozen=True)
class _Place:
    """Values to positions."""

    first: float
    last: float
    low: float
    high: float

    def across(self, value: float) -> float:
        share = (value - self.first) / (self.last - self.first) if self.last > self.first else 0.5
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def up(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def _line(curve: Curve, number: int, place: _Place) -> Line:
    spreads = list(zip(curve.classes, curve.spreads(), strict=True))
    drawn = [(classes, one) for classes, one in spreads if math.isfinite(one.mean)]
    points = tuple(
        Point(place.across(classes), place.up(one.mean), f"{curve.label}, {classes}: {one}")
        for classes, one in drawn
    )
    edges = [
        [f"{place.across(c)},{place.up(one.mean + side * (one.std or 0))}" for c, one in drawn]
        for side in (1, -1)
    ]
    dashes = ("", "6 3", "2 3")[number // HUES % 3]
    band = "M" + "L".join(edges[0] + edges[1][::-1]) + "Z" if len(curve.runs) > 1 else ""
    path = "M" + "L".join(f"{point.x},{point.y}" for point in points) if points else ""
    return Line(curve.label, number % HUES, dashes, points, path, band)


def _round_range(heights: Sequence[float]) -> tuple[float, float]:
    """A range of whole tens around all heights."""
    low = 10 * math.floor(min(heights, default=0) / 10)
    high = 10 * math.ceil(max(heights, default=100) / 10)
    return (low, high) if high > low else (low - 10, high + 10)


def _steps(low: float, high: float) -> list[float]:
    """Round values between two, six at most."""
    magnitude = 10 ** math.floor(math.log10(high - low))
    strides = (magnitude * factor for factor in (0.2, 0.5, 1, 2))
    stride = next(one for one in strides if high - low <= 6 * one)
    numbers = range(math.ceil(low / stride - 1e-9), math.floor(high / stride + 1e-9) + 1)
    return [number * stride for number in numbers]
