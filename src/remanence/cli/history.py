"""Every version of a model: when it was made, from which, how it did; a star marks the one in use.

examples:
  remanence history birds.model
  remanence history birds.model --json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the folder of the model")
    parser.add_argument("--json", action="store_true", help="as JSON, for scripts")


def call(args: argparse.Namespace) -> None:
    """Print a line for each version."""
    from remanence.cli.outcome import versions_table
    from remanence.cli.tables import console
    from remanence.model.folder import ModelFolder

    folder = ModelFolder(args.model)
    current = folder.current
    if args.json:
        found = [_as_json(folder, number, current) for number in folder.versions]
        print(json.dumps(found, indent=2))
    else:
        console().print(versions_table(folder))


def _as_json(folder: Any, number: int, current: int) -> dict[str, object]:
    from remanence.core.settings import encode

    one = folder.describe(number)
    told = {name: getattr(one, name) for name in ("version", "parent", "made", "refused")}
    measured = encode(one.measured) | {"forgotten": one.measured.forgotten}
    return told | {
        "current": number == current,
        "classes": len(one.classes),
        "measured": measured,
        "kept": len(one.kept),
    }
