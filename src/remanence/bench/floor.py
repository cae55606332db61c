"""LUCIR against its floor: the same network and teacher on random tensors, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from remanence.bench.base import Bench, Benchmark, Row, Spread, at_most
from remanence.bench.shared.bare import Bare
from remanence.bench.shared.scene import SAVE_EVERY, Running, Scene
from remanence.bench.shared.sides import alternated, timed
from remanence.core import archive
from remanence.core.settings import settings

EPOCHS = 6


@settings
class Floor(Benchmark):
    """Augmentation, losses, lenses, optimiser, records: all that an epoch has beside its floor."""

    def rows(self, bench: Bench) -> Iterator[Row]:
        running = Scene(bench).running()
        batches = _batches(running)[:4] if bench.quick else _batches(running)
        bare = Bare(running.fit.session, batches)
        bare.turn()
        sides = {"LUCIR": lambda: running.advance(len(batches)), "floor": bare.turn}
        found = alternated(sides, bench.turns(EPOCHS), bench.device)
        yield Row(
            f"LUCIR, {sum(batches)} images",
            found.of("LUCIR"),
            "s",
            "bare forward and backward, and the teacher's forward",
            found.ratio("LUCIR", "floor"),
            at_most(1.08),
        )
        yield _checkpoint(bench, running)


def _batches(running: Running) -> list[int]:
    """The sizes of those of an epoch."""
    batch = running.fit.session.training.batch
    assert batch is not None
    whole, rest = divmod(running.images, batch)
    return [batch] * whole + ([rest] if rest else [])


def _checkpoint(bench: Bench, running: Running) -> Row:
    """The median of epochs hardly shows what happens once a minute: it stands for itself."""
    network = running.fit.session.network
    state = {"network": network.state_dict()}
    file = bench.folder / "checkpoint.safetensors"
    turns = [timed(lambda: archive.save(file, state), bench.device) for _ in range(5)]
    return Row(
        "a checkpoint of the network",
        Spread.of(turns).times(100 / SAVE_EVERY),
        "% of the time",
        target=at_most(1),
        note=f"one every {SAVE_EVERY:.0f} s",
    )
