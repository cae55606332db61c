"""Two sides or more, one turn each again and again: what else the machine does falls on all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from remanence.bench.base import Spread

Side = Callable[[], object]


@dataclass(frozen=True)
class Timed:
    """The seconds of each turn of each side."""

    seconds: Mapping[str, list[float]]

    def of(self, side: str) -> Spread:
        """A turn of one side."""
        return Spread.of(self.seconds[side])

    def ratio(self, side: str, other: str) -> Spread:
        """One side in parts of another, turn by turn."""
        pairs = zip(self.seconds[side], self.seconds[other], strict=True)
        return Spread.of([one / two for one, two in pairs])


def alternated(sides: Mapping[str, Side], turns: int, device: torch.device) -> Timed:
    """Time so many turns of each side, A B A B; what is to be warm is warmed before."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(turns):
        for name, side in sides.items():
            seconds[name].append(timed(side, device))
    return Timed(seconds)


def timed(side: Side, device: torch.device) -> float:
    """The seconds of one turn; a GPU is waited for."""
    _wait(device)
    started = time.perf_counter()
    side()
    _wait(device)
    return time.perf_counter() - started


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()
