"""Teach a model the classes in a folder of photographs; the folder of the model is made if need be.

PHOTOS has one sub-folder for each class, called as the class. A part of each class is held out to
measure on (all of PHOTOS/test, where PHOTOS has train and test). Run it again with other folders:
new names are added as new classes, known names get more photographs, and what is known is not
forgotten, though the old photographs are gone. Stopped in between, the same command goes on; the
model in use changes only when the new version is complete, and every version is kept.

examples:
  remanence learn birds.model photos/
  remanence learn birds.model more-photos/ --max-drop 2
  remanence learn birds.model photos/ --keep 0              keep no photograph at all
  remanence learn mine.model photos/ --backbone timm:convnext_tiny
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

WISHES = {
    "keep": ("20|0|50MB", "photographs to keep: so many of each class, or bytes in all"),
    "max-drop": ("POINTS", "do not use the new version if old classes lose more"),
    "backbone": ("NAME", "see 'remanence list backbones'; also timm:NAME and package.module:Name"),
    "side": ("PIXELS", "of the square that the network sees"),
    "test-share": ("FRACTION", "of each class to hold out (default: 0.2)"),
    "shrinkage": ("FRACTION", "of the covariance towards a sphere (default: 0.5)"),
    "epochs": ("N", "of a network that is not pretrained, when the model is made"),
    "seed": ("N", "of what chance decides (default: 1993)"),
    "workers": ("N", "threads that decode (default: one for each processor)"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the folder of the model")
    parser.add_argument("photos", type=Path, metavar="PHOTOS", help="a sub-folder for each class")
    for name, (what, about) in WISHES.items():
        parser.add_argument(f"--{name}", metavar=what, help=about)
    parser.add_argument(
        "--own-code", action="store_true", help="the model may import the module that it names"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, only the result")
    parser.add_argument("--json", action="store_true", help="the result as JSON, for scripts")


def call(args: argparse.Namespace) -> None:
    """Learn, and print how well the classes are known and what was forgotten."""
    from remanence.cli.outcome import print_outcome
    from remanence.cli.progress import watching
    from remanence.core.errors import GateRefused
    from remanence.core.settings import decode, encode
    from remanence.learning import Wishes, learn
    from remanence.model.folder import ModelFolder

    given = {name.replace("-", "_"): getattr(args, name.replace("-", "_")) for name in WISHES}
    chosen = {name: value for name, value in given.items() if value is not None}
    wishes = decode(Wishes, chosen | {"own_code": args.own_code})
    folder = ModelFolder(args.model)
    before = folder.current if folder.exists else None
    refusal = None
    with watching(args.quiet or args.json, "photographs") as progress:
        try:
            version = learn(args.model, args.photos, wishes, progress)
        except GateRefused as error:
            refusal, version = error, folder.describe(folder.versions[-1])
    if args.json:
        print(json.dumps(encode(version), indent=2, ensure_ascii=False))
    elif version.version == before:
        print(f"{folder.path}: nothing was learned; version {before} stays in use")
    else:
        print_outcome(folder, version)
    if refusal:
        raise refusal
