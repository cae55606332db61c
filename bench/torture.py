"""Disturb short runs in every way that can be thought of, and see that nothing is lost.

    python bench/torture.py --kills 200
    python bench/torture.py --cifar FOLDER      a tenth of it on a short run of CIFAR-100 as well

A fault is survived where the run ends with the bits of one that was left alone; refused where one
line said what to do and doing so led there; lost otherwise. As root, the disks that are full or
read-only are small ones of its own; else limits and modes stand in for them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # the last bits of a sum depend on how many share it

from faults.company import dead_ranks, two_at_once, wrong_clocks
from faults.damage import damage
from faults.disks import full, read_only
from faults.kills import kills
from faults.subject import CIFAR, DIGITS, Subject
from faults.surroundings import surroundings
from faults.tally import Tally

RESULT = Path("results/reliability/torture.json")


def main() -> int:
    """Everything, in some minutes."""
    args = _arguments()
    started = time.monotonic()
    where = Path(tempfile.mkdtemp(prefix="torture-", dir=args.where))
    os.environ["XDG_CACHE_HOME"] = str(where / "cache")
    chance, found = random.Random(args.seed), {}
    command = f"python bench/torture.py --kills {args.kills} --faults {args.faults}"
    command += " --cifar FOLDER" if args.cifar else ""
    for name, words, counts in _runs(args):
        for tally in tortured(words, counts, where / name, chance):
            found[name] = tally.tree()
            _write(args.result, found | surroundings(command, time.monotonic() - started))
    print(json.dumps(found, indent=2))
    if any(one["total"]["lost"] for one in found.values()):
        return 1
    shutil.rmtree(where)
    return 0


def _runs(args: argparse.Namespace) -> Iterator[tuple[str, Sequence[str], tuple[int, int]]]:
    """The runs to disturb: name, words, and how many kills and faults of each other kind."""
    yield "digits", DIGITS, (args.kills, args.faults)
    if args.cifar:
        words = (*CIFAR, f"data.folder={args.cifar.resolve()}")
        yield "cifar100", words, (args.kills // 10, args.faults // 10)


def tortured(
    words: Sequence[str], counts: tuple[int, int], where: Path, chance: random.Random
) -> Iterator[Tally]:
    """Every kind of fault on one kind of run; what it came to so far, after each kind."""
    where.mkdir(parents=True)
    subject, tally = Subject(words, where / "undisturbed"), Tally()
    end = subject.done(subject.undisturbed)
    if end.code:
        raise SystemExit(end.last)
    killed, others = counts
    for name, each in (
        ("kills", lambda: kills(subject, killed, where, tally, chance)),
        ("full disks", lambda: full(subject, others, where, tally, chance)),
        ("read-only folders", lambda: read_only(subject, max(2, others // 4), where, tally)),
        ("damage", lambda: damage(subject, others, where, tally, chance)),
        ("two at once", lambda: two_at_once(subject, max(2, others // 4), where, tally)),
        ("clocks", lambda: wrong_clocks(subject, max(2, others // 4), where, tally, chance)),
        ("ranks", lambda: dead_ranks(subject, max(2, others // 4), where, tally, chance)),
    ):
        print(f"{words[0]}: {name} ...", file=sys.stderr, flush=True)
        each()
        yield tally


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200, help="SIGKILLs (default: 200)")
    parser.add_argument(
        "--faults", type=int, default=40, help="of each other kind, or a quarter (default: 40)"
    )
    parser.add_argument("--cifar", type=Path, help="a folder with CIFAR-100, to use it as well")
    parser.add_argument("--seed", type=int, default=1993, help="what is random (default: 1993)")
    parser.add_argument("--where", type=Path, help="for the runs (default: the system's)")
    parser.add_argument("--result", type=Path, default=RESULT, help=f"(default: {RESULT})")
    return parser.parse_args()


def _write(path: Path, tree: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(tree, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
