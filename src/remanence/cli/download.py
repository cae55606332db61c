"""Fetch a data set from its official home and check it.

examples:
  remanence download cifar100
  remanence download cifar100 --to /data

The data are found again by data.folder=..., by the variable REMANENCE_DATA, or in the default
folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

DATA_SETS = ("cifar100",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("data", choices=DATA_SETS)
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="default: the cache folder")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def call(args: argparse.Namespace) -> None:
    """Download, verify, and say where it is."""
    from remanence.cli.progress import watching
    from remanence.core.packings import data_folders
    from remanence.data.cifar100 import download

    with watching(args.quiet) as progress:
        print(download(args.to or data_folders()[0], progress))
