"""Exact nearest neighbours against the bare matrix product of the same size, and their memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.bench.base import Bench, Benchmark, Row, Spread, at_most
from remanence.bench.shared.apart import peak_of
from remanence.bench.shared.sides import Side, alternated
from remanence.core.settings import settings
from remanence.neighbours import TILE, best_in_tiles

TURNS, NEIGHBOURS = 3, 10
GIGABYTE = 1e9


@dataclass(frozen=True)
class Size:
    """So many candidates with features so long, and how many of them ask."""

    candidates: int
    width: int
    queries: int


SIZES = (
    Size(5_000, 64, 5_000),
    Size(20_000, 64, 20_000),
    Size(50_000, 64, 10_000),
    Size(130_000, 512, 2_000),
)
SMALL = (Size(2_000, 64, 2_000), Size(20_000, 512, 500))


@settings
class Neighbours(Benchmark):
    """Ten neighbours of each query, as DCE finds them."""

    def rows(self, bench: Bench) -> Iterator[Row]:
        for size in SMALL if bench.quick else SIZES:
            unit = _features(size, bench.device)
            sides: dict[str, Side] = {
                "search": partial(search, unit, size),
                "product": partial(product, unit, size),
            }
            for side in sides.values():
                side()
            found = alternated(sides, bench.turns(TURNS), bench.device)
            each = size.candidates / size.queries
            asked = f"{size.queries:,} queries among {size.candidates:,}, d = {size.width}"
            whole = f"{found.of('search').median * each:.1f} s for all"
            yield Row(
                asked,
                found.of("search"),
                "s",
                "the matrix product",
                found.ratio("search", "product"),
                note="" if each == 1 else whole,
            )
        memory = peak_of(_searched, size, bench.device.type)
        extra = Spread.of([memory.extra / GIGABYTE])
        yield Row(f"{asked}: beyond the features", extra, "GB", target=at_most(1))


def _features(size: Size, device: torch.device) -> Tensor:
    chance = torch.Generator().manual_seed(0)
    return F.normalize(torch.randn(size.candidates, size.width, generator=chance)).to(device)


def search(unit: Tensor, size: Size) -> Tensor:
    """The neighbours of the first ones, as DCE asks for them."""

    def tile(rows: slice) -> Tensor:
        scores = unit[rows] @ unit.T
        own = torch.arange(rows.start, rows.stop, device=unit.device)
        scores[own - rows.start, own] = -torch.inf
        return scores

    return best_in_tiles(tile, size.queries, NEIGHBOURS)[0]


def product(unit: Tensor, size: Size) -> None:
    """All cosines of the first ones, written over again and again."""
    scores = torch.empty(TILE, len(unit), device=unit.device)
    for part in unit[: size.queries].split(TILE):
        torch.mm(part, unit.T, out=scores[: len(part)])


def _searched(size: Size, device: str) -> object:
    """A search whose features are there already: what it needs beside them is measured."""
    unit = _features(size, torch.device(device))
    return partial(search, unit, size)
