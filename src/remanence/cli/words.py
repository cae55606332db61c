"""Words that several commands understand."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remanence.grid.places import Wish


def add_version(parser: argparse.ArgumentParser) -> None:
    """Which version of a model, and whether it is trusted."""
    parser.add_argument("--at", type=count, metavar="VERSION", help="default: the one in use")
    parser.add_argument(
        "--own-code", action="store_true", help="the model may import the module that it names"
    )


def count(text: str) -> int:
    """A number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 on")
    return int(text)


def speed(text: str) -> float:
    """Images in a second."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not (number > 0 and math.isfinite(number)):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of images in a second, above 0")
    return number


def add_places(parser: argparse.ArgumentParser) -> None:
    """Where many runs are computed, and how many of them at once."""
    group = parser.add_argument_group("where the runs are computed")
    add = group.add_argument
    add(
        "--on",
        default="local",
        metavar="PLACE",
        help="local (a worker for each processor or GPU; the default), ray, or ray:ADDRESS: a "
        "cluster, whose nodes see the same --runs",
    )
    add("--threads", type=count, metavar="N", help="of each run (default: 1, or a GPU's share)")
    add("--per-gpu", type=count, default=1, metavar="N", help="runs that share one (default: 1)")
    add("--workers", type=count, metavar="N", help="of this machine, at most (default: all)")


def wish(args: argparse.Namespace) -> Wish:
    """What these words ask for."""
    from remanence.grid.places import Wish

    return Wish(args.on, args.threads, args.per_gpu, args.workers)
