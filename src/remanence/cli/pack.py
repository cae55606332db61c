"""Decode photographs once: a copy that is mapped into memory, for where decoding is the bottleneck.

examples:
  remanence pack packs/birds data=folder data.folder=birds
  remanence pack packs/sub data=imagenet data.subset=sub_ucir --side 160
  remanence run my-recipe.toml data=packed data.folder=packs/birds

A pack holds every photograph as raw pixels: at the usual side about 260 kB each, two or three times
its JPEG. The same command goes on where it was cut. docs/data.md says what it changes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from remanence.cli.words import count

SHORTER = 256


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("out", type=Path, help="the folder to pack into")
    parser.add_argument(
        "settings", nargs="*", default=[], metavar="key=value", help="the data, as for a run"
    )
    parser.add_argument(
        "--side",
        type=count,
        default=SHORTER,
        help=f"pixels of the shorter side, at most (default: {SHORTER}, for a size of 224)",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, only the result")


def call(args: argparse.Namespace) -> None:
    """Pack, and say what came of it."""
    from remanence.cli.progress import watching
    from remanence.core.errors import SettingsError
    from remanence.core.settings import assignment, encode
    from remanence.experiment import Experiment
    from remanence.photographs.collection import Photographs
    from remanence.photographs.pack import pack

    data = Experiment.of(*map(assignment, args.settings)).data
    with watching(args.quiet, "photographs") as progress:
        progress.doing("reading the data")
        splits = data.load()
        if not isinstance(splits.train, Photographs) or not isinstance(splits.test, Photographs):
            raise SettingsError(f"data: {data.name} is held in memory as it is: nothing to pack")
        about = {
            "shorter": args.side,
            "data": encode(data),
            "fingerprint": splits.fingerprint,
            "train": len(splits.train),
            "test": len(splits.test),
            "classes": splits.class_names,
        }
        progress.doing("packing")
        pack(args.out, (splits.train, splits.test), about, progress)
    size = sum(file.stat().st_size for file in args.out.glob("*.pixels"))
    total = len(splits.train) + len(splits.test)
    print(f"{args.out}: {total} photographs, {size / 1e6:.0f} MB")
