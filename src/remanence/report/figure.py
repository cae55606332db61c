"""Curves as a picture fit for a paper."""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.core import files
from remanence.core.errors import SettingsError
from remanence.report.panel import Curve, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito chose these hues for the colour-blind; their yellow is too pale for a line.
_HUES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_MARKS = "os^Dv<>"
_DASHES = ("-", "--", ":")

# No file says when it was made, so that the same curves give the same bytes.
_UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}

_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "figure.constrained_layout.w_pad": 0.06,
    "text.parse_math": False,
    "pdf.fonttype": 42,
    "svg.hashsalt": "remanence",
}


@dataclass(frozen=True)
class Sides:
    """What is written at the axes of every panel, and whether steps across are factors."""

    across: str = "number of classes"
    up: str = "accuracy (%)"
    by_factors: bool = False


def accuracy_figure(panels: Sequence[Panel], path: Path, sides: Sides | None = None) -> None:
    """One picture, SVG, PNG or PDF by the suffix of `path`: means, ± std shaded."""
    save(path, lambda: _drawn(panels, sides or Sides()))


def save(path: Path, draw: Callable[[], Figure]) -> None:
    """Write what is drawn, in the style of all pictures; the same bytes for the same picture."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _UNDATED:
        raise SettingsError(f"cannot draw '{path.name}': end its name in .svg, .png or .pdf")
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        content = io.BytesIO()
        picture = draw()
        picture.savefig(content, format=kind, dpi=200, bbox_inches="tight", metadata=_UNDATED[kind])
    files.write(path, content.getvalue())


def _drawn(panels: Sequence[Panel], sides: Sides) -> Figure:
    from matplotlib.figure import Figure

    rows = math.ceil(len(panels) / 3)
    columns = math.ceil(len(panels) / rows)
    picture = Figure(figsize=(3.1 * columns + 0.3, 2.5 * rows), layout="constrained")
    grid = picture.subplots(rows, columns, sharey=True, squeeze=False)
    looks = looks_of(curve.label for panel in panels for curve in panel.curves)
    for axes, panel in zip(grid.flat, panels, strict=False):
        _draw_panel(axes, panel, looks)
        axes.set_xlabel(sides.across)
        if sides.by_factors:
            _step_by_factors(axes, panel)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for axes in grid[:, 0]:
        axes.set_ylabel(sides.up)
    draw_legend(picture)
    return picture


def looks_of(labels: Iterable[str]) -> dict[str, dict[str, Any]]:
    """How each label is drawn: the same in every panel; no two of the first 21 are alike."""
    return {
        label: {
            "color": _HUES[place % len(_HUES)],
            "marker": _MARKS[place % len(_MARKS)],
            "linestyle": _DASHES[place // len(_HUES) % len(_DASHES)],
        }
        for place, label in enumerate(dict.fromkeys(labels))
    }


def _draw_panel(axes: Axes, panel: Panel, looks: dict[str, dict[str, Any]]) -> None:
    ticks = panel.ticks()
    for curve in panel.curves:
        draw_curve(axes, curve, looks[curve.label], ticks)
    axes.set_title(textwrap.fill(panel.title, 44))
    axes.set_xticks(ticks)


def _step_by_factors(axes: Axes, panel: Panel) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(panel.ticks(), [str(Fraction(tick)) for tick in panel.ticks()])


def draw_curve(axes: Axes, curve: Curve, look: dict[str, Any], ticks: Sequence[float]) -> None:
    """A line through the means, and the band of their deviation."""
    many = len(curve.classes) > 12
    marked = [i for i, classes in enumerate(curve.classes) if not many or classes in ticks]
    means = np.array(curve.means())
    axes.plot(curve.classes, means, label=curve.label, markersize=3.5, markevery=marked, **look)
    if len(curve.runs) > 1:
        std = np.array([spread.std for spread in curve.spreads()])
        band = {"color": look["color"], "alpha": 0.18, "linewidth": 0}
        axes.fill_between(curve.classes, means - std, means + std, **band)


def draw_legend(picture: Figure) -> None:
    """One legend for all panels above them, in as few lines as the width of the picture allows."""
    lines = {line.get_label(): line for axes in picture.axes for line in axes.get_lines()}
    for columns in range(len(lines), 0, -1):
        legend = picture.legend(
            handles=list(lines.values()), loc="outside upper center", ncols=columns
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a legend that is too wide: see below
            picture.draw_without_rendering()
        size = legend.get_window_extent()
        if size.width <= picture.bbox.width or columns == 1:
            break
        legend.remove()
    picture.set_figheight(picture.get_figheight() + size.height / picture.dpi)
