"""The main job on the embedded digits: plain finetuning, LUCIR and LUCIR+DDE side by side.

Ten classes of handwritten digits arrive as 4, 2, 2 and 2, with a few images kept of each old class
and with none, under several seeds that also shuffle the classes. It takes under two minutes on two
cores and ends in a table, a curve in the terminal and a picture.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remanence.grid.jobs import Job
    from remanence.metrics import Summary

RECIPES = {"finetune": "digits-finetune", "LUCIR": "digits-lucir", "LUCIR+DDE": "digits-lucir-dde"}
KEEP = (5, 0)
Summaries = dict[tuple[str, str], list["Summary"]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds (default: 3)")
    parser.add_argument("--out", type=Path, default=Path("runs/demo"), help="where to keep it all")
    parser.add_argument("--quiet", action="store_true", help="no progress, only the result")
    parser.add_argument("--json", action="store_true", help="the result as JSON, for scripts")


def call(args: argparse.Namespace) -> None:
    """Run what is not there yet, then show everything."""
    from remanence.cli.progress import new_bar
    from remanence.core.errors import SettingsError
    from remanence.grid.jobs import run_all
    from remanence.grid.places import Wish

    if args.seeds < 1:
        raise SettingsError("--seeds: at least one is needed")
    jobs = _jobs(args.out, args.seeds)
    with new_bar("runs") as bar:
        bar.disable = args.quiet or args.json
        task = bar.add_task("learning digits", total=len(jobs))
        records = run_all(jobs, lambda job: bar.advance(task), Wish().workers(jobs))
    _show(args, _summaries(jobs, records))


def _jobs(folder: Path, seeds: int) -> list[Job]:
    from remanence.engine.run import Place
    from remanence.grid.jobs import Job
    from remanence.recipe import compose

    jobs = []
    for seed in range(seeds):
        for keep in KEEP:
            for label, recipe in RECIPES.items():
                own = [f"memory.per_class={keep}", f"seed={seed}", f"stream.order=random:{seed}"]
                _, experiment = compose(recipe, [*own, "machine.threads=1"])
                place = Place(folder / f"{recipe}-r{keep}-seed{seed}", folder / "bases", recipe)
                jobs.append(Job(label, _setting(keep), experiment, place))
    return jobs


def _setting(keep: int) -> str:
    return f"{keep} images kept of each old class" if keep else "no old image kept"


def _summaries(jobs: Sequence[Job], records: Sequence[list[Any]]) -> Summaries:
    """What each job's own reading (the first) came to, by setting and label."""
    from remanence.metrics import readings, summarise

    found: Summaries = {}
    for job, of_run in zip(jobs, records, strict=True):
        summary = summarise(of_run, readings(of_run)[0])
        found.setdefault((job.setting, job.label), []).append(summary)
    return found


def _show(args: argparse.Namespace, found: Summaries) -> None:
    if args.json:
        named = {
            f"{label}, {setting}": [asdict(s) for s in all_]
            for (setting, label), all_ in found.items()
        }
        print(json.dumps(named, indent=2))
        return
    from remanence.cli import tables
    from remanence.report.curve import terminal_curve
    from remanence.report.figure import accuracy_figure
    from remanence.report.panel import Curve, Panel
    from remanence.report.table import summary_table

    console = tables.console()
    panels = []
    for setting in dict.fromkeys(setting for setting, _ in found):
        rows = [(label, one) for (of, label), one in found.items() if of == setting]
        panels.append(Panel(setting, tuple(Curve.of(label, one) for label, one in rows)))
        console.print(f"\n[bold]{setting}[/bold]")
        console.print(summary_table(rows))
        print(terminal_curve(panels[-1], width=min(80, console.width), colour=console.is_terminal))
    picture = args.out / "accuracy.png"
    accuracy_figure(panels, picture)
    print(f"picture: {picture}\nrecords: {args.out}/*/records.jsonl")
