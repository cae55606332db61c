"""What 'remanence grid' prints: its runs with their time, and what they came to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from remanence.cli.outcome import plain_table
from remanence.cli.tables import console
from remanence.grid.jobs import Job
from remanence.metrics import Summary, readings, summarise
from remanence.records import Record
from remanence.report.table import Row, summary_table
from remanence.reproduce.cost import Estimator, is_sized
from remanence.reproduce.ledger import Ledger
from remanence.reproduce.text import duration
from remanence.run_folder import read_log

Planned = tuple[Job, str, float | None]


def show_plan(jobs: Sequence[Job], results: Path, speed: float | None, as_json: bool) -> None:
    """Every run with its state and its estimated time, one after another."""
    estimator = Estimator(Ledger(results / "ledger"), speed)
    rows = [_planned(job, estimator) for job in jobs]
    known = [seconds for _, _, seconds in rows if seconds is not None]
    if as_json:
        runs = [{"run": str(job.place.folder), "state": s, "seconds": t} for job, s, t in rows]
        print(json.dumps({"runs": runs, "seconds": sum(known)}))
        return
    table = plain_table("run", "of", "state", "time")
    for job, state, seconds in rows:
        time = "?" if seconds is None else duration(seconds) if seconds else "-"
        table.add_row(job.place.folder.name, job.label, state, time)
    console().print(table)
    print(f"{len(jobs)} runs, about {duration(sum(known))} one after another")


def show(jobs: Sequence[Job], found: Sequence[list[Record]], as_json: bool) -> None:
    """What every combination came to, mean ± std over its seeds."""
    grouped: dict[str, dict[str, list[Summary]]] = {}
    for job, records in zip(jobs, found, strict=True):
        for name in readings(records):
            of_label = grouped.setdefault(job.label, {})
            of_label.setdefault(name, []).append(summarise(records, name))
    if as_json:
        print(json.dumps(_as_json(jobs, grouped), indent=2))
        return
    rows: list[Row] = []
    for label, by_reading in grouped.items():
        rows.append((label, []))
        rows += [(f"  {name}", summaries) for name, summaries in by_reading.items()]
    console().print(summary_table(rows))


def _planned(job: Job, estimator: Estimator) -> Planned:
    log = read_log(job.place.folder)
    if log and log[-1].get("event") == "finished":
        return job, "done", 0.0
    is_known = is_sized(job.experiment.resolved())
    seconds = estimator.estimate(job.experiment).seconds if is_known else None
    return job, "begun" if log else "to run", seconds


def _as_json(
    jobs: Sequence[Job], grouped: dict[str, dict[str, list[Summary]]]
) -> dict[str, object]:
    summaries = {
        label: {name: [asdict(one) for one in all_] for name, all_ in by_reading.items()}
        for label, by_reading in grouped.items()
    }
    return {"runs": [str(job.place.folder) for job in jobs], "readings": summaries}
