"""What the ledger says of a table: ours beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from remanence.core import choices
from remanence.metrics import Spread, Summary, relative_improvement
from remanence.reproduce.ledger import Entry, Ledger
from remanence.reproduce.paper import Cell, Measure, Row, Table
from remanence.reproduce.shape import Shape, Variant


@dataclass(frozen=True)
class Measured:
    """What a cell came to: the runs of one variant, a seed each; none if it was not run.

    values: one of each run, where the cell is no comparison.
    spread is None where nothing was measured, or where a comparison lacks one of its rows.
    """

    paper: float | None
    tolerance: float
    spread: Spread | None = None
    values: tuple[float, ...] = ()
    entries: tuple[Entry, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        if self.spread is None or self.paper is None:
            return None
        return self.spread.mean - self.paper

    @property
    def verdict(self) -> str:
        """Whether the two agree; nothing is said of runs that were not made as the paper's."""
        if self.difference is None or self.remarks:
            return ""
        return "agrees" if abs(self.difference) <= self.tolerance else "differs"


def measure(table: Table, ledger: Ledger) -> dict[tuple[str, str], Measured]:
    """Every cell that a table has, by the names of its row and column."""
    found: dict[tuple[str, str], Measured] = {}
    for cell in table.cells:
        found[cell.row.name, cell.column.name] = _measured(cell, table.tolerance, ledger)
    for row in table.rows:
        for place, column in enumerate(table.columns):
            if row.compare:
                paper = row.paper[place] if row.paper else None
                pair = [found[name, column.name] for name in row.of]
                found[row.name, column.name] = _compared(row, pair, paper, table.tolerance)
    return found


def runs_of(cell: Cell, ledger: Ledger) -> tuple[Variant, list[Entry]] | None:
    """The runs that a cell shows: of the variant nearest to the paper's, one for each seed."""
    wanted = cell.shape
    by_variant: dict[Variant, dict[int, Entry]] = {}
    for entry in ledger.standing_for(wanted, cell.row.reading):
        assert entry.shape is not None
        by_variant.setdefault(entry.shape.variant, {}).setdefault(entry.seed, entry)
    if not by_variant:
        return None
    best = max(by_variant, key=lambda one: (_nearness(one, wanted), len(by_variant[one])))
    return best, [by_variant[best][seed] for seed in sorted(by_variant[best])]


def value_of(summary: Summary, measure: Measure) -> float | None:
    """The figure that a table prints."""
    return summary.average_accuracy if measure == "accuracy" else summary.forgetting


def remarks(variant: Variant, wanted: Shape) -> tuple[str, ...]:
    """In what a run differs from the paper's schedule and class order, in words."""
    full = wanted.variant
    said = []
    if variant.epochs != full.epochs or variant.base_epochs != full.base_epochs:
        base = f" (base {variant.base_epochs})" if variant.base_epochs != variant.epochs else ""
        said.append(f"{variant.epochs} of {full.epochs} epochs{base}")
    if variant.order != full.order:
        said.append(f"order {variant.order}" if len(variant.order) < 20 else "another order")
    return tuple(said)


def _nearness(variant: Variant, wanted: Shape) -> tuple[bool, int, int]:
    full = wanted.variant
    lengths = -abs(variant.epochs - full.epochs), -abs(variant.base_epochs - full.base_epochs)
    return (variant.order == full.order, *lengths)


def _measured(cell: Cell, tolerance: float, ledger: Ledger) -> Measured:
    runs = runs_of(cell, ledger)
    if runs is None:
        return Measured(cell.paper, tolerance)
    variant, entries = runs
    values = [value_of(entry.summary(cell.row.reading), cell.row.measure) for entry in entries]
    known = tuple(value for value in values if value is not None)
    spread = Spread.of(known) if known else None
    caveat = choices.caveat("methods", cell.experiment.method.name).strip("[]")
    said = remarks(variant, cell.shape) + ((caveat,) if caveat else ())
    return Measured(cell.paper, tolerance, spread, known, tuple(entries), said)


def _compared(
    row: Row, pair: Sequence[Measured], paper: float | None, tolerance: float
) -> Measured:
    better, base = pair
    if better.spread is None or base.spread is None or better.remarks != base.remarks:
        return Measured(paper, tolerance)
    value: float | None = better.spread.mean - base.spread.mean
    if row.compare == "improvement":
        is_loss = row.measure == "forgetting"
        value = relative_improvement(base.spread.mean, better.spread.mean, is_loss)
    if value is None:
        return Measured(paper, tolerance)
    spread = Spread(value, None, min(better.spread.n, base.spread.n))
    entries = (*better.entries, *base.entries)
    return Measured(paper, tolerance, spread, (), entries, better.remarks)
