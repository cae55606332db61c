"""The ledger line by line: runs of one experiment, a seed each, read in one way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from remanence.core import choices
from remanence.experiment import Experiment
from remanence.metrics import Spread, Summary
from remanence.reproduce.ledger import Entry, Ledger
from remanence.reproduce.measured import remarks
from remanence.reproduce.paper import tables
from remanence.reproduce.shape import Shape, shape
from remanence.stream import group_sizes


@dataclass(frozen=True)
class Line:
    """Runs that differ by their seeds alone, in one of their readings."""

    entries: tuple[Entry, ...]
    reading: str

    @property
    def experiment(self) -> Experiment:
        """What was run, with the first seed."""
        experiment = self.entries[0].experiment
        assert experiment is not None, "lines are of runs that the program knows"
        return experiment

    @property
    def protocol(self) -> str:
        """On what was learned, and how much was kept."""
        resolved = self.experiment.resolved()
        sizes = group_sizes(resolved.stream, sum(self.entries[0].groups["classes"]))
        later = ", ".join(dict.fromkeys(map(str, sizes[1:])))
        memory = resolved.memory
        kept = f"{memory.per_class} images kept of each" if memory.total is None else ""
        kept = kept or f"{memory.total} images kept in all"
        data = getattr(resolved.data, "subset", "")
        name = f"{resolved.data.name} {data}".strip()
        order = self.entries[0].order["name"]
        return f"{name}, order {order}: {sizes[0]} classes, then {len(sizes) - 1} x {later}; {kept}"

    @property
    def learned(self) -> str:
        """How: the method, its weight, the effects that act in training, and what must be said."""
        resolved = self.experiment.resolved()
        method, weight = resolved.method, resolved.method.classification_weight
        acting = [effect.name for effect in resolved.effects if effect.acts_in_training]
        weighted = [f"weight {weight:g}"] if weight != 1 else []
        said = " + ".join([method.name, *weighted, *acting])
        return f"{said} {choices.caveat('methods', method.name)}".strip()

    @cached_property
    def schedule(self) -> str:
        """In what it differs from the published one; empty if in nothing."""
        tree = self.experiment.tree()
        full = Experiment.of({**tree, "training": _open(tree["training"])})
        entry = self.entries[0]
        assert entry.shape is not None
        return ", ".join(remarks(entry.shape.variant, shape(full)))

    @cached_property
    def summaries(self) -> tuple[Summary, ...]:
        """Every metric of each seed."""
        return tuple(entry.summary(self.reading) for entry in self.entries)

    @property
    def accuracy(self) -> Spread:
        """Average incremental accuracy."""
        return Spread.of([one.average_accuracy for one in self.summaries])

    @property
    def forgetting(self) -> Spread | None:
        """Average incremental forgetting; None where nothing came after the base."""
        known = [one.forgetting for one in self.summaries if one.forgetting is not None]
        return Spread.of(known) if known else None

    @property
    def steps(self) -> tuple[float, ...]:
        """The mean accuracy after each increment."""
        curves = zip(*(one.curve for one in self.summaries), strict=True)
        return tuple(Spread.of(step).mean for step in curves)

    @property
    def printed(self) -> tuple[str, ...]:
        """What papers print for it, in whatever class order."""
        own = self.entries[0].shape
        assert own is not None
        fits = (
            text
            for wanted, reading, text in _printed()
            if reading == self.reading and own.gives(wanted, reading)
        )
        return tuple(dict.fromkeys(fits))


@cache
def _printed() -> tuple[tuple[Shape, str, str], ...]:
    """The accuracies in all tables: of what, how it is read, and the figure."""
    return tuple(
        (
            cell.shape,
            cell.row.reading,
            f"{cell.paper:.2f}{' (copied)' if 'copied' in cell.row.label else ''}",
        )
        for table in tables().values()
        for cell in table.cells
        if cell.paper is not None and cell.row.measure == "accuracy"
    )


def lines(ledger: Ledger) -> list[Line]:
    """All of a ledger, by protocol and schedule, the most accurate first."""
    found: dict[tuple[object, ...], dict[int, Entry]] = {}
    for entry in ledger:
        for reading in _readings(entry):
            assert entry.shape is not None
            through = [part.partition(".")[0] for part in reading.split("+")[1:]]
            seen = str([entry.shape.reading.get(name) for name in through])
            key = (reading, entry.shape.training, entry.shape.variant, seen)
            found.setdefault(key, {}).setdefault(entry.seed, entry)
    made = [
        Line(tuple(seeds[seed] for seed in sorted(seeds)), str(reading))
        for (reading, *_), seeds in found.items()
    ]
    return sorted(made, key=lambda one: (one.protocol, one.schedule, -one.accuracy.mean))


def _readings(entry: Entry) -> Iterator[str]:
    """Those of a run that the program still knows, without the variants of an effect."""
    if entry.shape is not None:
        yield from (name for name in entry.right if "." not in name)


def _open(training: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in training.items() if "epochs" not in name}
