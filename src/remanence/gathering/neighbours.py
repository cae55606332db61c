"""For the colliding effect: new images that lie together in the old network's feature space."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.engine.reopen import Reopened
from remanence.gathering.pictures import as_text, small
from remanence.neighbours import best_in_tiles
from remanence.report.exhibit import Missing, Neighbourhood, Sight

ROWS = 12  # old classes that are shown
NEIGHBOURS = 8  # of an image


def neighbourhoods(run: Reopened) -> tuple[Neighbourhood, ...] | Missing:
    """The images that speak for an old class most, each with its neighbours."""
    if "colliding" not in [effect.name for effect in run.experiment.effects]:
        return Missing("The run is without the effect colliding.")
    if len(run.finished) < 2:
        return Missing("Only the base is learned: there is no old network yet.")
    gallery = _Gallery(run)
    return tuple(gallery.neighbourhood(place) for place in gallery.chosen())


class _Gallery:
    """The images of the last increment as the network before it sees them."""

    def __init__(self, run: Reopened) -> None:
        before = run.earlier()
        self._names = run.stream.class_names
        self._images = run.finished[-1].train
        pool = before.pool(self._images)
        out = pool.outputs(before.network, pool.everything)
        unit = F.normalize(out.features)
        believed = run.experiment.method.probabilities(out).max(1)
        self._belief, self._spoken_for = believed.values.cpu(), believed.indices.cpu()
        self._near, self._alike = (one.cpu() for one in nearest(unit, NEIGHBOURS))

    def chosen(self) -> list[int]:
        """Of the old classes that are believed in most, the image each."""
        best: dict[int, int] = {}
        for place in self._belief.argsort(descending=True, stable=True).tolist():
            best.setdefault(int(self._spoken_for[place]), place)
        return list(best.values())[:ROWS]

    def neighbourhood(self, place: int) -> Neighbourhood:
        """An image and its neighbours, with pictures."""
        near = zip(self._near[place].tolist(), self._alike[place].tolist(), strict=True)
        return Neighbourhood(
            self._sight(place), tuple(self._sight(other, alike) for other, alike in near)
        )

    def _sight(self, place: int, alike: float | None = None) -> Sight:
        one = self._images[torch.tensor([place])]
        return Sight(
            picture=as_text([small(one.pixels[0])]),
            name=self._names[int(one.labels[0])],
            speaks_for=self._names[int(self._spoken_for[place])],
            belief=float(self._belief[place]),
            alike=alike,
        )


def nearest(unit: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """For each unit vector the places of the most alike others, and how alike they are."""
    places = torch.arange(len(unit), device=unit.device)

    def alike(rows: slice) -> Tensor:
        itself = places[rows, None] == places
        return (unit[rows] @ unit.T).masked_fill(itself, -math.inf)

    return best_in_tiles(alike, len(unit), min(count, len(unit) - 1))
