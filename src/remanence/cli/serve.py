"""Serve a model: an HTTP API, and a page to show it photographs and teach it new classes.

By itself it listens on this machine alone. At another --host, or with --allow-name, whoever asks
must know a token: --token, REMANENCE_TOKEN, or one that is made up and printed as a part of the
address. A lesson is learned by a process beside the server, which goes on answering; the new
version is taken into use when it is complete, and so is one that 'remanence learn' makes meanwhile.
It takes the extra `serve`: pip install 'remanence[serve]'.

examples:
  remanence serve birds.model                                  then open the address it prints
  remanence serve birds.model --read-only --verbose
  remanence serve birds.model --max-drop 2 --keep 20           wishes for what it is taught
  remanence serve birds.model --host 0.0.0.0 --port 8080       for others, with a token
  curl --data-binary @robin.jpg http://127.0.0.1:8000/api/predict
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

SERVING = {
    "host": ("ADDRESS", "where to listen (default: 127.0.0.1, this machine alone)"),
    "port": ("N", "default: 8000; 0 is any that is free"),
    "token": ("WORD", "that whoever asks must know (default: REMANENCE_TOKEN)"),
    "max-bytes": ("20MB", "of a photograph (default: 20MB)"),
    "max-lesson": ("1GB", "of all photographs of a lesson (default: 1GB)"),
    "at-once": ("N", "uploads at the same time (default: 16)"),
    "patience": ("SECONDS", "of grace for a slow upload (default: 20)"),
}
WISHES = {
    "keep": ("20|0|50MB", "photographs to keep of what is taught (default: as before)"),
    "max-drop": ("POINTS", "do not use a version in which old classes lose more"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the folder of the model")
    for name, (what, about) in (SERVING | WISHES).items():
        parser.add_argument(f"--{name}", metavar=what, help=about)
    parser.add_argument(
        "--allow-name",
        action="append",
        default=[],
        metavar="NAME",
        help="under which a proxy on this machine calls the server; takes a token",
    )
    parser.add_argument("--read-only", action="store_true", help="it is not taught")
    parser.add_argument(
        "--own-code", action="store_true", help="the model may import the module that it names"
    )
    parser.add_argument("--verbose", action="store_true", help="a line for each request")


def call(args: argparse.Namespace) -> None:
    """Serve until a signal comes."""
    from remanence.core.settings import decode
    from remanence.serve.serving import Serving, check_installed

    check_installed()
    token = {"token": os.environ["REMANENCE_TOKEN"]} if os.environ.get("REMANENCE_TOKEN") else {}
    chosen = token | _given(args, SERVING)
    serving = decode(
        Serving,
        chosen
        | {
            "names": tuple(args.allow_name),
            "teaches": not args.read_only,
            "wishes": _given(args, WISHES) | {"own_code": args.own_code},
        },
    )
    from remanence.serve.server import serve

    serve(args.model, serving, args.verbose)


def _given(args: argparse.Namespace, names: dict[str, tuple[str, str]]) -> dict[str, str]:
    """What was said of these."""
    keys = [name.replace("-", "_") for name in names]
    return {key: getattr(args, key) for key in keys if getattr(args, key) is not None}
