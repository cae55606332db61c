"""What 'remanence reproduce' prints: plans with their time, tables beside the paper's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table as Printed
from rich.text import Text

from remanence.cli.tables import console
from remanence.reproduce.cost import Estimator
from remanence.reproduce.ledger import Ledger
from remanence.reproduce.measured import Measured, measure
from remanence.reproduce.paper import Table, tables
from remanence.reproduce.plan import Planned
from remanence.reproduce.text import beside, duration, ours

Found = dict[tuple[str, str], Measured]


def show_plan(plans: Sequence[Planned], runs: Path, estimator: Estimator, as_json: bool) -> None:
    """Every run with its cells, its state and its estimated time."""
    rows, sources = [], set()
    for plan in plans:
        if plan.is_measured:
            rows.append((plan, "in the ledger", 0.0))
            continue
        estimate = estimator.estimate(plan.experiment)
        sources.add(estimate.source)
        begun = (runs / plan.name / "experiment.json").exists()
        rows.append((plan, "begun" if begun else "to run", estimate.seconds))
    total = sum(seconds for _, _, seconds in rows)
    if as_json:
        print(json.dumps({"runs": [_plan_as_json(*row) for row in rows], "seconds": total}))
        return
    printed = _printed("run", "cells", "state", "time")
    for plan, state, seconds in rows:
        printed.add_row(
            plan.name, "\n".join(plan.cells), state, duration(seconds) if seconds else "-"
        )
    console().print(printed)
    known = f" (paces {'; '.join(sorted(sources))})" if sources else ""
    where = "on this machine" if estimator.speed is None else f"({total / 3600:.0f} GPU-hours)"
    print(f"{len(plans)} runs, about {duration(total)} one after another {where}{known}\n")


def show_table(table: Table, ledger: Ledger, as_json: bool) -> None:
    """Ours beside the paper's, with what is special about each figure under it."""
    found = measure(table, ledger)
    if as_json:
        print(json.dumps({"table": table.name, "cells": _cells_as_json(found)}, indent=2))
        return
    printed = _printed("", *(column.label for column in table.columns))
    for row in table.rows:
        cells = [found.get((row.name, column.name)) for column in table.columns]
        printed.add_row(Text(row.label), *(_cell(one) for one in cells))
    console().print(Text(table.title, style="bold"))
    console().print(printed)
    print(
        f"{table.about}\nmean ± std (seeds), paper's figure, difference; "
        f"= within {table.tolerance} points, ! further apart"
    )


def show_pictures(table: Table, ledger: Ledger, folder: Path, as_json: bool) -> None:
    """Draw what the cells of a figure show, and say where it is."""
    from remanence.reproduce.pictures import draw

    drawn = draw(table, ledger, folder)
    if drawn and not as_json:
        print(f"drawn: {', '.join(map(str, drawn))}")


def show_tables(ledger: Ledger, as_json: bool) -> None:
    """Every table, with how many of its cells are measured."""
    counts = {}
    for name, table in tables().items():
        found = measure(table, ledger).values()
        counts[name] = (len(found), sum(one.spread is not None for one in found))
    if as_json:
        print(json.dumps({n: {"cells": a, "measured": b} for n, (a, b) in counts.items()}))
        return
    printed = _printed("table", "", "measured", "cells")
    for name, (cells, measured) in counts.items():
        printed.add_row(name, tables()[name].title, str(measured), str(cells))
    console().print(printed)


def _printed(*headings: str) -> Printed:
    printed = Printed(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in headings:
        printed.add_column(heading, overflow="fold")
    return printed


def _cell(measured: Measured | None) -> str:
    if measured is None:
        return ""
    return "\n".join(filter(None, (ours(measured), beside(measured), *measured.remarks)))


def _plan_as_json(plan: Planned, state: str, seconds: float) -> dict[str, object]:
    return {"run": plan.name, "cells": plan.cells, "state": state, "seconds": seconds}


def _cells_as_json(found: Found) -> list[dict[str, object]]:
    return [
        {
            "row": row,
            "column": column,
            "mean": one.spread.mean if one.spread else None,
            "std": one.spread.std if one.spread else None,
            "n": one.spread.n if one.spread else 0,
            "paper": one.paper,
            "difference": one.difference,
            "verdict": one.verdict,
            "remarks": one.remarks,
        }
        for (row, column), one in found.items()
    ]
