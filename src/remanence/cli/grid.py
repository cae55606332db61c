"""Many runs from one command: every combination of the values that settings are given.

examples:
  remanence grid digits-lucir seed=1,2,3 memory.per_class=0,5 --list
  remanence grid digits-lucir,digits-lucir-dde seed=1,2,3
  remanence grid cifar100-t5-r5-lucir 'effects=momentum|halved,momentum|colliding,momentum'
  remanence grid cifar100-t5-r5-lucir seed=1,2,3 --on ray:10.0.0.1:6379

Several values are parted by commas, or by | where a value has commas itself. The runs are listed
with their time first. The same command again goes on where it was cut; each run is the one that
'remanence run' makes of the same settings, in the same folder. It ends in a table, mean ± std over
the seeds.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.cli.words import add_places, speed

if TYPE_CHECKING:
    from remanence.grid.jobs import Job


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("recipe", help="a name from 'remanence list recipes', a file, or several")
    parser.add_argument(
        "settings", nargs="*", default=[], metavar="key=a,b,c", help="laid over the recipe; an axis"
    )
    add = parser.add_argument
    add("--list", action="store_true", help="the runs and their time on this machine; run nothing")
    add("--speed", type=speed, metavar="N", help="images/s trained on, for the time elsewhere")
    add("--runs", type=Path, default=Path("runs"), metavar="DIR", help="where run folders are")
    add("--results", type=Path, default=Path("results"), metavar="DIR", help="ledger/ knows paces")
    add("--quiet", action="store_true", help="no progress, only the result")
    add("--json", action="store_true", help="the result as JSON, for scripts")
    add_places(parser)


def call(args: argparse.Namespace) -> None:
    """List the runs with their time, run what is not there yet, and show what all came to."""
    from remanence.cli import gridded
    from remanence.cli.words import wish

    jobs = _jobs(args)
    workers = wish(args).workers(jobs)
    if args.list or not (args.json or args.quiet):
        gridded.show_plan(jobs, args.results, args.speed, args.json)
    if not args.list:
        from remanence.cli.progress import running_all

        gridded.show(jobs, running_all(jobs, workers, args.quiet or args.json), args.json)


def _jobs(args: argparse.Namespace) -> list[Job]:
    from remanence.engine.run import Place
    from remanence.grid.axes import points
    from remanence.grid.jobs import Job
    from remanence.recipe import run_name

    jobs = []
    for point in points(args.recipe, args.settings):
        folder = args.runs / run_name(point.recipe, point.experiment)
        place = Place(folder, args.runs / "bases", point.recipe.name)
        jobs.append(Job(point.without("seed"), str(folder), point.experiment, place))
    return jobs
