"""Delete old versions of a model, and the photographs that only they keep.

The one in use always stays.

examples:
  remanence prune birds.model              all but the one in use
  remanence prune birds.model --leave 3    all but the newest three and the one in use
"""

from __future__ import annotations

import argparse
from pathlib import Path

from remanence.cli.words import count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the folder of the model")
    parser.add_argument(
        "--leave", type=count, metavar="N", help="how many of the newest stay, in use or not"
    )


def call(args: argparse.Namespace) -> None:
    """Delete, and say what went."""
    from remanence.model.folder import ModelFolder

    folder = ModelFolder(args.model)
    current = folder.current
    with folder.changing():
        gone = folder.prune(args.leave or 0)
    went = ", ".join(map(str, gone)) or "none"
    print(f"{folder.path}: versions deleted: {went}; in use: {current}")
