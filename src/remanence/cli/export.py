"""Write a model, or a reading of a run, as one file that others can read: ONNX or safetensors.

Normalisation, calibration and, where it was learned with it, the removal of momentum's direction
are folded in: pixels in 0..255 go in, logits and probabilities come out. The names of the classes
and how a photograph becomes pixels stand in the metadata. Before the file takes its name it is
asked about real images (those that are kept, those of --check, or a run's test images) and about
made ones; where it does not say what the network says, it is deleted. ONNX takes the extra
`export`: pip install 'remanence[export]'.

examples:
  remanence export birds.model birds.onnx
  remanence export birds.model birds.onnx --check photos/ --force
  remanence export birds.model birds.safetensors --at 2
  remanence export runs/digits-lucir-dde digits.onnx --reading cnn+momentum
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.cli.words import add_version

if TYPE_CHECKING:
    from remanence.exporting.subject import Subject
    from remanence.exporting.target import Check

PIXELS = ("uint8", "float32")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("source", type=Path, metavar="MODEL|RUN", help="the folder of either")
    parser.add_argument("out", type=Path, metavar="OUT", help="ends in .onnx or .safetensors")
    parser.add_argument("--check", type=Path, metavar="FOLDER", help="photographs to check with")
    parser.add_argument("--reading", metavar="NAME", help="of a run (default: its first)")
    parser.add_argument(
        "--pixels",
        choices=PIXELS,
        default="uint8",
        help="what the ONNX file takes (default: uint8)",
    )
    parser.add_argument("--force", action="store_true", help="replace what is there")
    parser.add_argument("--json", action="store_true", help="the result as JSON, for scripts")
    add_version(parser)


def call(args: argparse.Namespace) -> None:
    """Write the file, and say how it compares with the network."""
    from remanence.exporting.target import Target

    target = Target.of(args.out, args.pixels, args.force)
    subject = _subject(args)
    check = target.write(subject)
    if args.json:
        print(json.dumps(_as_json(args.out, subject, check), indent=2, ensure_ascii=False))
    else:
        print("\n".join(_lines(args.out, subject, check)))


def _subject(args: argparse.Namespace) -> Subject:
    from remanence.core.errors import SettingsError

    if (args.source / "experiment.json").exists():
        if args.at or args.check:
            raise SettingsError("--at and --check are for models; a run has --reading")
        from remanence.exporting.of_run import of_run

        return of_run(args.source, args.reading)
    if args.reading:
        raise SettingsError(f"--reading is for runs, and {args.source} is none")
    from remanence.exporting.of_model import of_model
    from remanence.predictor import Predictor

    return of_model(Predictor.load(args.source, args.at, own_code=args.own_code), args.check)


def _lines(out: Path, subject: Subject, check: Check) -> list[str]:
    source = ", ".join(f"{key} {value}" for key, value in subject.source.items())
    sides = " x ".join(map(str, subject.shape))
    return [
        f"{out}: {len(subject.names)} classes, {out.stat().st_size / 1e6:.1f} MB; from {source}",
        f"takes N x {sides} pixels in 0..255, gives logits and probabilities",
        f"checked on {check.real} real and {check.made} made images: probabilities differ by "
        f"{check.probabilities:.1e} at most, logits by {check.logits:.1e} of the largest",
    ]


def _as_json(out: Path, subject: Subject, check: Check) -> dict[str, object]:
    return {
        "file": str(out),
        "bytes": out.stat().st_size,
        **subject.about,
        "check": {
            "real_images": check.real,
            "made_images": check.made,
            "largest_difference_of_probabilities": check.probabilities,
            "largest_difference_of_logits": check.logits,
        },
    }
