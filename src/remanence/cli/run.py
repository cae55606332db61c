"""Run a recipe in a folder of its own; the same command goes on where a run was cut.

examples:
  remanence run digits-lucir-dde
  remanence run cifar100-t5-r5-lucir-dde training.base_epochs=40 training.epochs=15
  remanence run digits-lucir method.less_forget=2 effects=colliding,momentum seed=7
  remanence run my-recipe.toml --out runs/mine

Several processes share each batch when torchrun starts them:
  torchrun --nproc-per-node 2 -m remanence run cifar100-t5-r5-lucir-dde

Settings are key=value with dotted keys; 'remanence explain RECIPE' shows them all.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remanence.records import Record


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("recipe", help="a name from 'remanence list recipes', or a .toml file")
    parser.add_argument(
        "settings", nargs="*", default=[], metavar="key=value", help="laid over the recipe"
    )
    parser.add_argument("--out", type=Path, help="the run folder (default: below --runs)")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where run folders are")
    parser.add_argument(
        "--save-every",
        type=_seconds,
        default=60.0,
        metavar="SECONDS",
        help="time between checkpoints (default: 60)",
    )
    parser.add_argument(
        "--on-nan",
        choices=["stop", "skip"],
        help="when a batch's loss is not a number: stop there, or leave the batch out and count it "
        "(the same as training.on_nan=...; default: stop)",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, only the result")
    parser.add_argument("--json", action="store_true", help="the result as JSON, for scripts")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds") from None
    if not seconds >= 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return seconds


def call(args: argparse.Namespace) -> None:
    """Run, and print what each reading of the trained network came to."""
    from remanence.cli.progress import watching
    from remanence.core import ranks
    from remanence.core.errors import Interrupted
    from remanence.engine.run import Place, run
    from remanence.recipe import compose, run_name

    chosen = [f"training.on_nan={args.on_nan}"] if args.on_nan else []
    recipe, experiment = compose(args.recipe, [*args.settings, *chosen])
    folder = args.out or args.runs / run_name(recipe, experiment)
    place = Place(folder, args.runs / "bases", recipe.name, args.save_every)
    try:
        with watching(args.quiet or args.json or not ranks.is_first()) as progress:
            records = run(experiment, place, progress)
    except Interrupted as error:
        error.args = (f"{error}; the same command goes on ({folder})",)
        raise
    if not ranks.is_first():
        return
    if args.json:
        print(json.dumps(_as_json(folder, records), indent=2))
    else:
        _print_table(folder, records)


def _as_json(folder: Path, records: list[Record]) -> dict[str, object]:
    from dataclasses import asdict

    from remanence.metrics import readings, summarise

    found = {name: asdict(summarise(records, name)) for name in readings(records)}
    return {"folder": str(folder), "readings": found}


def _print_table(folder: Path, records: list[Record]) -> None:
    from remanence.cli.tables import console, heading
    from remanence.metrics import readings, summarise
    from remanence.report.table import Row, summary_table

    rows: list[Row] = [(heading(folder), [])]
    rows += [(f"  {name}", [summarise(records, name)]) for name in readings(records)]
    console().print(summary_table(rows))
    print(f"\n{folder}/records.jsonl")
