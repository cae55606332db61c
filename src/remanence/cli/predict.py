"""Say what photographs show: names with calibrated probabilities.

A folder stands for all photographs in it and below; - is one photograph on standard input. What
cannot be read is told on standard error, and the others are answered.

examples:
  remanence predict birds.model robin.jpg wren.jpg
  remanence predict birds.model photos/ --format csv --top 1 > names.csv
  curl -s https://example.org/bird.jpg | remanence predict birds.model - --format json
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from remanence.cli.words import add_version, count

FORMATS = ("table", "json", "csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the folder of the model")
    parser.add_argument("images", nargs="+", metavar="IMAGE", help="files, folders, or -")
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    parser.add_argument(
        "--top", type=count, default=3, metavar="N", help="names for each photograph (default: 3)"
    )
    add_version(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress, only the answers")


def call(args: argparse.Namespace) -> None:
    """Predict, and print the answers in the order of the photographs."""
    from remanence.cli.answers import WRITERS, answers
    from remanence.cli.progress import watching
    from remanence.predictor import Predictor

    predictor = Predictor.load(args.model, args.at, own_code=args.own_code)
    with watching(args.quiet or not sys.stderr.isatty(), "photographs") as progress:
        WRITERS[args.format](answers(predictor, args.images, args.top, progress))
