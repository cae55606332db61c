"""The paper's tables and figures: which cells there are, what they cost, ours beside the paper's.

examples:
  remanence reproduce                                  # every table, and how much of it is there
  remanence reproduce sota --list --columns cifar100-t5    # its runs, and their time here
  remanence reproduce no-replay --columns cifar100-t5 --seeds 0,1,2 --epochs-scale 0.25
  remanence reproduce --collect runs/*                 # runs made elsewhere, into the ledger
  remanence reproduce --pages                          # tables and pictures of docs/, one HTML page

What is in the ledger (results/ledger) is never run again, and what was cut goes on. A figure is
drawn as results/figures/NAME.svg. Settings of the machine may be laid over all runs as key=value,
say machine.precision=bfloat16. Several runs are computed at once, a worker for each processor or
GPU; --on here computes one after another in this process, with all processors, and --on ray on a
cluster.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.cli.words import add_places, speed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remanence.reproduce.ledger import Ledger
    from remanence.reproduce.paper import Table
    from remanence.reproduce.plan import Demand, Planned


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument(
        "table",
        nargs="?",
        metavar="TABLE",
        help="which one, or a .toml file like ours; without, all",
    )
    parser.add_argument(
        "settings", nargs="*", default=[], metavar="key=value", help="of the machine, for all runs"
    )
    add = parser.add_argument
    add("--list", action="store_true", help="the cells and their time on this machine; run nothing")
    add("--rows", type=_names, default=(), metavar="NAMES", help="only these: a,b or r5-*")
    add("--columns", type=_names, default=(), metavar="NAMES", help="only these: a,b or r5-*")
    add("--seeds", type=_seeds, default=(1993,), metavar="SEEDS", help="say 0,1,2 (default: 1993)")
    add(
        "--epochs-scale",
        type=float,
        default=1.0,
        metavar="FACTOR",
        help="of the paper's schedule; 0.25 learns for 40 of 160 epochs (default: 1)",
    )
    add("--results", type=Path, default=Path("results"), metavar="DIR", help="holds ledger/")
    add("--runs", type=Path, default=Path("runs"), metavar="DIR", help="where run folders are")
    add("--data", metavar="DIR", help="where the images are (default: REMANENCE_DATA, the cache)")
    add("--collect", nargs="+", type=Path, metavar="RUN", help="finished runs into the ledger")
    add("--speed", type=speed, metavar="N", help="images/s trained on, for the time elsewhere")
    add(
        "--pages",
        nargs="?",
        const=Path("docs"),
        type=Path,
        metavar="DIR",
        help="write what the ledger says into the documents there, with pictures (default: docs)",
    )
    add("--quiet", action="store_true", help="no progress, only the result")
    add("--json", action="store_true", help="the result as JSON, for scripts")
    add_places(parser)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _seeds(text: str) -> tuple[int, ...]:
    seeds = dict.fromkeys(_names(text))
    if not seeds or not all(seed.isdecimal() for seed in seeds):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of seeds, say 0,1,2")
    return tuple(map(int, seeds))


def call(args: argparse.Namespace) -> None:
    """Collect, list, run, and show what the ledger says, as far as each is asked for."""
    from remanence.reproduce.ledger import Ledger

    ledger = Ledger(args.results / "ledger")
    if args.collect:
        _collect(args, ledger)
    if args.table is not None:
        _reproduce(args, ledger)
    elif not args.collect and not args.pages:
        _overview(ledger, args.json)
    if args.pages:
        _write_pages(args.pages, ledger)


def _collect(args: argparse.Namespace, ledger: Ledger) -> None:
    from remanence.core.errors import FolderError
    from remanence.reproduce.collect import collect, run_folders

    new, refused = 0, []
    for folder in run_folders(args.collect):
        try:
            entry, is_new = collect(ledger, folder)
        except FolderError as error:
            refused.append(str(error))
            continue
        new += is_new
        print(f"{'new' if is_new else 'known':5}  {entry.name}")
    print(f"{new} new runs; {len(ledger.entries)} in {ledger.folder}")
    if refused:
        raise FolderError(f"{len(refused)} left out: {'; '.join(refused)}")


def _write_pages(folder: Path, ledger: Ledger) -> None:
    from remanence.reproduce.pages.book import write_pages

    for path in write_pages(ledger, folder):
        print(path)


def _reproduce(args: argparse.Namespace, ledger: Ledger) -> None:
    from remanence.cli import reproduced
    from remanence.reproduce.cost import Estimator
    from remanence.reproduce.paper import table
    from remanence.reproduce.plan import planned

    chosen = table(args.table).part(args.rows, args.columns)
    plans = planned(chosen, _demand(args, chosen), ledger)
    if args.list or not args.json:
        reproduced.show_plan(plans, args.runs, Estimator(ledger, args.speed), args.json)
    if args.list:
        return
    _run(args, plans, ledger)
    reproduced.show_table(chosen, ledger, args.json)
    reproduced.show_pictures(chosen, ledger, args.results / "figures", args.json)


def _demand(args: argparse.Namespace, chosen: Table) -> Demand:
    import math

    from remanence.core.errors import SettingsError
    from remanence.core.settings import assignment, merged
    from remanence.reproduce.plan import Demand

    if not (args.epochs_scale > 0 and math.isfinite(args.epochs_scale)):
        raise SettingsError(f"--epochs-scale: {args.epochs_scale} is no factor above 0")
    tree: dict[str, object] = {"data": {"folder": args.data}} if args.data else {}
    for setting in args.settings:
        one = assignment(setting)
        if set(one) != {"machine"}:
            raise SettingsError(
                f"'{setting}': the tables say what is learned; only machine.* can be set here"
            )
        tree = merged(tree, one)
    return Demand(args.seeds, args.epochs_scale, tree)


def _run(args: argparse.Namespace, plans: Sequence[Planned], ledger: Ledger) -> None:
    from remanence.reproduce.runs import missing

    todo = missing(plans)
    if args.on == "here" or (args.on == "local" and len(todo) == 1):
        _run_here(args, todo, ledger)
    elif todo:
        _run_at_once(args, todo, ledger)


def _run_at_once(args: argparse.Namespace, todo: Sequence[Planned], ledger: Ledger) -> None:
    from remanence.cli.progress import running_all
    from remanence.cli.words import wish
    from remanence.grid.jobs import Job
    from remanence.reproduce.collect import collect
    from remanence.reproduce.runs import job_of

    jobs = [job_of(plan, args.runs) for plan in todo]

    def finished(job: Job) -> None:
        collect(ledger, job.place.folder)

    running_all(jobs, wish(args).workers(jobs), args.quiet or args.json, finished)


def _run_here(args: argparse.Namespace, todo: Sequence[Planned], ledger: Ledger) -> None:
    from contextlib import ExitStack

    from remanence.cli.progress import watching
    from remanence.core.errors import Interrupted
    from remanence.core.progress import Progress
    from remanence.reproduce.runs import run_missing

    def beginning(plan: Planned) -> Progress:
        shown.close()
        progress = shown.enter_context(watching(args.quiet or args.json))
        progress.said(f"run {todo.index(plan) + 1} of {len(todo)}: {plan.name}")
        return progress

    with ExitStack() as shown:
        try:
            run_missing(todo, args.runs, ledger, beginning)
        except Interrupted as error:
            error.args = (f"{error}; the same command goes on",)
            raise


def _overview(ledger: Ledger, as_json: bool) -> None:
    from remanence.cli import reproduced

    reproduced.show_tables(ledger, as_json)
