"""LUCIR and LUCIR+DDE against a plain PyTorch rendering of the official procedure."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from remanence.bench.base import Bench, Benchmark, Row, Spread, at_least
from remanence.bench.shared.plain import BATCH, Plain
from remanence.bench.shared.scene import DDE, Scene
from remanence.bench.shared.sides import Timed, alternated, timed
from remanence.core.settings import settings

TURNS, BATCHES = 5, 4


@settings
class Official(Benchmark):
    """Parts of an epoch, the same number of batches on each side."""

    def rows(self, bench: Bench) -> Iterator[Row]:
        batches = 1 if bench.quick else BATCHES
        for name, trees, wanted in (("LUCIR", (), 2.0), ("LUCIR + DDE", (DDE,), 6.0)):
            ours = Scene(bench, *trees).running()
            session = ours.fit.session
            plain = Plain(session.pool.images, session.old_classes, bench.device)
            theirs = plain.dde if trees else plain.lucir
            theirs(1)
            sides = {
                "ours": lambda one=ours: one.advance(batches),
                "plain": lambda one=theirs: one(batches),
            }
            found = alternated(sides, bench.turns(TURNS), bench.device)
            if trees:
                found = _with_graph(found, plain, batches, bench)
            yield Row(
                f"plain {name}, {batches * BATCH} images",
                found.of("plain"),
                "s",
                f"ours, {_seconds(found.of('ours'))}",
                found.ratio("plain", "ours"),
                at_least(wanted),
            )


def _with_graph(found: Timed, plain: Plain, batches: int, bench: Bench) -> Timed:
    """The rendering finds neighbours once an epoch: a part of it takes its part of that."""
    whole = median(timed(plain.graph, bench.device) for _ in range(3))
    share = whole * batches * BATCH / plain.count
    return Timed({**found.seconds, "plain": [one + share for one in found.seconds["plain"]]})


def _seconds(spread: Spread) -> str:
    return f"{spread.median:.2f} s"
