"""What a model knows: its classes and since when, what is kept, settings, versions.

examples:
  remanence info birds.model
  remanence info birds.model --kept        every photograph that is kept
  remanence info birds.model --at 2 --json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.cli.words import count

if TYPE_CHECKING:
    from rich.table import Table

    from remanence.model.description import Description
    from remanence.model.folder import ModelFolder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the folder of the model")
    parser.add_argument("--at", type=count, metavar="VERSION", help="default: the one in use")
    parser.add_argument("--kept", action="store_true", help="list the photographs that are kept")
    parser.add_argument("--json", action="store_true", help="all of it as JSON, for scripts")


def call(args: argparse.Namespace) -> None:
    """Print what the model says of itself."""
    from remanence.core.settings import encode
    from remanence.model.folder import ModelFolder

    folder = ModelFolder(args.model)
    version = folder.describe(args.at)
    if args.json:
        tree = encode(version) | {"current": folder.current, "versions": folder.versions}
        print(json.dumps(tree, indent=2, ensure_ascii=False))
    else:
        _print(folder, version, args.kept)


def _print(folder: ModelFolder, version: Description, lists_kept: bool) -> None:
    from rich.text import Text

    from remanence.cli.outcome import notes, versions_table
    from remanence.cli.tables import console

    out = console()
    out.print(_classes(version))
    for line in [*notes(version), *_settings(version)]:
        out.print(Text(line))
    if lists_kept:
        for one in version.kept:
            name = version.names[one.label]
            out.print(Text(f"  {folder.kept_file(one.hash)}  {name}  {one.name}  {one.bytes} B"))
    out.print(versions_table(folder))


def _classes(version: Description) -> Table:
    from rich.text import Text

    from remanence.cli.outcome import percent, plain_table

    table = plain_table(
        "class", "since", "version", "photographs", "held out", "recognised", "kept"
    )
    for label, one in enumerate(version.classes):
        table.add_row(
            Text(one.name),
            one.made,
            str(one.version),
            str(one.photographs),
            str(one.held_out),
            percent(one.remembered.get(version.version)),
            str(sum(kept.label == label for kept in version.kept)),
        )
    return table


def _settings(version: Description) -> list[str]:
    seen = version.preprocessing
    backbone = ", ".join(f"{key} {value}" for key, value in version.backbone.items())
    wished = ", ".join(f"{key} {value}" for key, value in version.settings.items() if value)
    made = ", ".join(f"{name} {number}" for name, number in version.software.items())
    return [
        f"network: {backbone}; it sees {seen.side} x {seen.side} pixels",
        f"settings: {wished}",
        f"made by: {made}",
    ]
