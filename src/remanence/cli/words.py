"""Words that several commands understand."""

from __future__ import annotations

import argparse


def add_version(parser: argparse.ArgumentParser) -> None:
    """Which version of a model, and whether it is trusted."""
    parser.add_argument("--at", type=count, metavar="VERSION", help="default: the one in use")
    parser.add_argument(
        "--own-code", action="store_true", help="the model may import the module that it names"
    )


def count(text: str) -> int:
    """A number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 on")
    return int(text)
