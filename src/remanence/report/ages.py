"""How often classes of each age are seen, beside what they have lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.report.figure import draw_curve, draw_legend, looks_of, save
from remanence.report.panel import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Ages:
    """One setting, by the increment that a class came with.

    images: of each class, while the last increment is learned. losses: points of accuracy.
    """

    title: str
    images: tuple[float, ...]
    losses: tuple[Curve, ...]


def ages_figure(settings: Sequence[Ages], path: Path) -> None:
    """One picture: bars of images above, losses of accuracy below."""
    save(path, lambda: _drawn(settings))


def _drawn(settings: Sequence[Ages]) -> Figure:
    from matplotlib.figure import Figure

    width = 3.1 * len(settings) + 0.3
    picture = Figure(figsize=(width, 3.9), layout="constrained")
    grid = picture.subplots(
        2, len(settings), sharex="col", sharey="row", squeeze=False, height_ratios=(1, 1.6)
    )
    looks = looks_of(curve.label for one in settings for curve in one.losses)
    for one, above, below in zip(settings, *grid, strict=True):
        _draw_images(above, one)
        for curve in one.losses:
            draw_curve(below, curve, looks[curve.label], curve.classes)
        below.set_xlabel("increment of the class")
        below.set_xticks(range(len(one.images)))
    grid[0, 0].set_ylabel("images of a class")
    grid[1, 0].set_ylabel("accuracy lost (points)")
    draw_legend(picture)
    return picture


def _draw_images(axes: Axes, one: Ages) -> None:
    axes.bar(range(len(one.images)), one.images, color="#9a9da3", width=0.7)
    for increment, images in enumerate(one.images):
        axes.annotate(f"{images:g}", (increment, images), ha="center", va="bottom", fontsize=7)
    axes.set_title(one.title, pad=12)
