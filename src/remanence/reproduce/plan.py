"""Which runs a table needs: each training once, however many cells are read off it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from remanence.experiment import Experiment
from remanence.reproduce.ledger import Ledger
from remanence.reproduce.paper import Table
from remanence.reproduce.shape import Shape, name_of, shape


@dataclass(frozen=True)
class Demand:
    """What is wanted beside the cells themselves.

    seeds: one run of each cell for every one.
    epochs_scale: 1 is the paper's schedule; less shortens base and increments alike.
    settings: laid over every experiment: where and on what it is computed.
    """

    seeds: tuple[int, ...] = (1993,)
    epochs_scale: float = 1.0
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Planned:
    """One run: its name, which is that of its folder, and the cells that are read off it.

    is_measured: whether the ledger has all of these readings already.
    """

    name: str
    experiment: Experiment
    shape: Shape
    readings: set[str] = field(default_factory=set)
    cells: list[str] = field(default_factory=list)
    is_measured: bool = False


def planned(table: Table, demand: Demand, ledger: Ledger) -> list[Planned]:
    """The runs that give every cell of a table, seed by seed, without two that are the same."""
    plans: dict[str, Planned] = {}
    for seed in demand.seeds:
        for cell in table.cells:
            experiment = _demanded(cell.experiment, seed, demand)
            name = name_of(experiment)
            plan = plans.setdefault(name, Planned(name, experiment, shape(experiment)))
            plan.readings.add(cell.row.reading)
            plan.cells.append(f"{cell.row.label} | {cell.column.label}")
    for plan in plans.values():
        plan.is_measured = all(_has(ledger, plan.shape, one) for one in plan.readings)
    return list(plans.values())


def _demanded(experiment: Experiment, seed: int, demand: Demand) -> Experiment:
    training = experiment.resolved().training
    assert training.epochs is not None and training.base_epochs is not None
    epochs = {
        "epochs": scaled(training.epochs, demand.epochs_scale),
        "base_epochs": scaled(training.base_epochs, demand.epochs_scale),
    }
    if demand.epochs_scale == 1:
        epochs = {}
    return Experiment.of(experiment.tree(), {"seed": seed, "training": epochs}, demand.settings)


def scaled(epochs: int, scale: float) -> int:
    """A shortened schedule has one epoch at least."""
    return max(1, round(epochs * scale))


def _has(ledger: Ledger, wanted: Shape, reading: str) -> bool:
    return any(
        entry.shape is not None
        and entry.seed == wanted.seed
        and entry.shape.variant == wanted.variant
        for entry in ledger.standing_for(wanted, reading)
    )
