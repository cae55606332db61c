"""How well a model does on photographs that it has not seen, in a folder for each class.

Folders that the model has no class for are left out, and named. Classes are grouped by the version
in which they were learned, so that what is forgotten shows.

examples:
  remanence evaluate birds.model test/
  remanence evaluate birds.model test/ --at 1
  remanence evaluate birds.model test/ --json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.cli.words import add_version

if TYPE_CHECKING:
    from remanence.learning.examining import Examination


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the folder of the model")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a sub-folder for each class")
    add_version(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress, only the result")
    parser.add_argument("--json", action="store_true", help="the result as JSON, for scripts")


def call(args: argparse.Namespace) -> None:
    """Ask the model about every photograph, and print how often it was right."""
    from remanence.cli.progress import watching
    from remanence.learning.examining import examine
    from remanence.predictor import Predictor

    predictor = Predictor.load(args.model, args.at, own_code=args.own_code)
    with watching(args.quiet or args.json, "photographs") as progress:
        found = examine(predictor, args.folder, progress)
    if args.json:
        print(json.dumps(_as_json(found), indent=2, ensure_ascii=False))
    else:
        _print(found)


def _as_json(found: Examination) -> dict[str, object]:
    shown = sorted(set(found.labels.tolist()))
    return {
        "photographs": len(found.labels),
        "accuracy": found.accuracy(),
        "confidence": found.confidence,
        "calibration_error": found.calibration_error,
        "learned_in": {v: found.accuracy(found.of_version(v)) for v in found.versions},
        "classes": {
            found.classes[label].name: {
                "photographs": int(found.of_class(label).sum()),
                "accuracy": found.accuracy(found.of_class(label)),
                "taken_for": dict(found.taken_for(label)),
            }
            for label in shown
        },
        "unknown": list(found.unknown),
        "unreadable": list(found.unreadable),
    }


def _print(found: Examination) -> None:
    from rich.text import Text

    from remanence.cli.outcome import percent, plain_table
    from remanence.cli.tables import console

    table = plain_table("class", "learned in", "photographs", "recognised", "else taken for")
    for label in sorted(set(found.labels.tolist())):
        of_class, one = found.of_class(label), found.classes[label]
        wrong = ", ".join(f"{name} {times}" for name, times in found.taken_for(label)[:2])
        counts = (str(one.version), str(int(of_class.sum())), percent(found.accuracy(of_class)))
        table.add_row(Text(one.name), *counts, Text(wrong))
    out = console()
    out.print(table)
    for version in found.versions:
        share = percent(found.accuracy(found.of_version(version)))
        out.print(f"classes of version {version}: {share}")
    out.print(
        f"all {len(found.labels)} photographs: {percent(found.accuracy())} recognised; said with "
        f"{found.confidence:.1f} % on average (calibration error "
        f"{found.calibration_error:.1f} points)"
    )
    for what, listed in (("no class", found.unknown), ("no image", found.unreadable)):
        if listed:
            out.print(Text(f"left out ({what}): {len(listed)}: {'; '.join(listed)}"))
