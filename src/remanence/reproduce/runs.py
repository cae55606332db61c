"""Runs what a plan lacks, one after another, and keeps each in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from remanence.core.progress import Progress
from remanence.engine.run import Place, run
from remanence.grid.jobs import Job
from remanence.reproduce.collect import collect
from remanence.reproduce.ledger import Ledger
from remanence.reproduce.plan import Planned


def missing(plans: Sequence[Planned]) -> list[Planned]:
    """The runs that the ledger cannot stand for."""
    return [plan for plan in plans if not plan.is_measured]


def place_of(plan: Planned, runs: Path) -> Place:
    """Where a run of a plan is kept; all below one folder share their base increments."""
    return Place(runs / plan.name, runs / "bases")


def job_of(plan: Planned, runs: Path) -> Job:
    """The same run for workers, who are many."""
    return Job(plan.name, plan.name, plan.experiment, place_of(plan, runs))


def run_missing(
    plans: Sequence[Planned],
    runs: Path,
    ledger: Ledger,
    beginning: Callable[[Planned], Progress],
) -> None:
    """Run what is missing; a run that was cut goes on where it stood."""
    for plan in missing(plans):
        place = place_of(plan, runs)
        run(plan.experiment, place, beginning(plan))
        collect(ledger, place.folder)
