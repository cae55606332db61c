"""DCE and MER against LUCIR alone: an epoch of each, at two numbers of neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from remanence.bench.base import Bench, Benchmark, Row, at_most
from remanence.bench.shared.scene import DDE, Scene
from remanence.bench.shared.sides import alternated
from remanence.core.settings import settings

EPOCHS = 5
MORE = {"effects": {"colliding": {"neighbours": 50}}}


@settings
class Colliding(Benchmark):
    """Whole epochs of the real loop, in turn."""

    def rows(self, bench: Bench) -> Iterator[Row]:
        scenes = {"LUCIR": (), "K=10": (DDE,), "K=50": (DDE, MORE)}
        running = {name: Scene(bench, *trees).running() for name, trees in scenes.items()}
        steps = 4 if bench.quick else running["LUCIR"].epoch
        sides = {name: lambda one=one: one.advance(steps) for name, one in running.items()}
        found = alternated(sides, bench.turns(EPOCHS), bench.device)
        work = f"{steps} steps" if bench.quick else f"epoch of {running['LUCIR'].images} images"
        for name in ("K=10", "K=50"):
            yield Row(
                f"LUCIR + DCE (bank, {name}) + MER, {work}",
                found.of(name),
                "s",
                "LUCIR",
                found.ratio(name, "LUCIR"),
                at_most(1.03),
            )
