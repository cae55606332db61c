"""What finished or unfinished runs came to so far: every reading of each, in one table.

examples:
  remanence show runs/digits-lucir runs/digits-lucir-dde
  remanence show results/* --readings cnn cnn+momentum --picture curves.png
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remanence.metrics import Summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders")
    parser.add_argument("--readings", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="curves as .svg, .png or .pdf")
    parser.add_argument("--json", action="store_true", help="as JSON, for scripts")


def call(args: argparse.Namespace) -> None:
    """Print the table, and draw the picture if one is wanted."""
    found = {run: _summaries(run, args.readings) for run in args.runs}
    if args.json:
        print(json.dumps({str(r): {s.reading: asdict(s) for s in f} for r, f in found.items()}))
    else:
        _print(found)
    if args.picture:
        _draw(found, args.picture)


def _summaries(run: Path, wanted: list[str] | None) -> list[Summary]:
    from remanence.core.errors import FolderError
    from remanence.metrics import readings, summarise
    from remanence.records import read_records

    records = read_records(run / "records.jsonl")
    if not records:
        raise FolderError(f"{run} has no finished increment yet: run it first")
    return [summarise(records, name) for name in wanted or readings(records)]


def _print(found: dict[Path, list[Summary]]) -> None:
    from remanence.cli.tables import console, heading
    from remanence.report.table import Row, summary_table

    rows: list[Row] = []
    for run, all_ in found.items():
        rows.append((heading(run), []))
        rows += [(f"  {one.reading}", [one]) for one in all_]
    console().print(summary_table(rows))


def _draw(found: dict[Path, list[Summary]], picture: Path) -> None:
    from remanence.cli.tables import heading
    from remanence.report.figure import accuracy_figure
    from remanence.report.panel import Curve, Panel

    panels = [
        Panel(heading(run), tuple(Curve.of(one.reading, [one]) for one in all_))
        for run, all_ in found.items()
    ]
    accuracy_figure(panels, picture)
    print(picture)
