"""Use another version of a model: the one before, or any that 'remanence history' lists.

Nothing is deleted, so that one may go forth again, also to a version that the gate refused.

examples:
  remanence rollback birds.model
  remanence rollback birds.model 3
"""

from __future__ import annotations

import argparse
from pathlib import Path

from remanence.cli.words import count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the folder of the model")
    parser.add_argument(
        "number", type=count, nargs="?", metavar="VERSION", help="default: the one before"
    )


def call(args: argparse.Namespace) -> None:
    """Change the version in use, and say so."""
    from remanence.core.errors import FolderError
    from remanence.model.folder import ModelFolder

    folder = ModelFolder(args.model)
    current = folder.describe()
    version = args.number or current.parent
    if version is None:
        raise FolderError(f"{folder.path} is at its first version: there is none before")
    with folder.changing():
        folder.use(version)
    names = folder.describe(version).names
    print(
        f"{folder.path}: version {version} is in use ({len(names)} classes), not {current.version}"
    )
