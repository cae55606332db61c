"""One page of runs, or of a model, as a file that opens in any browser and needs no network.

Curves of accuracy and forgetting, the accuracy matrix, old against new, every class, the images
that are kept, what neighbours the colliding effect found and what momentum effect removal takes
out, settings and time. Runs that differ by their seeds alone are shown as mean and deviation.
Of a model: its versions, what was forgotten, what is taken for what, classes, photographs kept.

examples:
  remanence report runs/digits-lucir-dde
  remanence report runs/lucir-* --readings cnn --out comparison.html
  remanence report runs/collected/* --no-images
  remanence report birds.model
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remanence.report.exhibit import Exhibits


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN|MODEL", help="run folders, or a model"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where to put it (default: report.html in the folder, or here for several)",
    )
    parser.add_argument("--readings", nargs="+", default=[], metavar="NAME", help="only these")
    parser.add_argument(
        "--images",
        action=argparse.BooleanOptionalAction,
        help="images, neighbours and logits, for which the data are read (default: of one run)",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")


def call(args: argparse.Namespace) -> None:
    """Write the page, and say where it is."""
    from remanence.core import files
    from remanence.core.errors import SettingsError
    from remanence.report.account import Account
    from remanence.report.exhibit import Exhibits
    from remanence.report.page import report_page

    runs = list(dict.fromkeys(args.runs))
    out = args.out or (runs[0] if len(runs) == 1 else Path()) / "report.html"
    if out.suffix.lower() not in (".html", ".htm"):
        raise SettingsError(f"cannot write '{out.name}' as a page: end its name in .html")
    if any((run / "current").is_file() for run in runs):
        files.write(out, _of_model(runs, args))
        print(out)
        return
    accounts = [Account.read(run) for run in runs]
    exhibits = dict.fromkeys(runs, Exhibits.missing("Not shown: images were not asked for."))
    if args.images or (args.images is None and len(runs) == 1):
        exhibits = _gathered(runs, args.quiet)
    files.write(out, report_page(accounts, exhibits, args.readings))
    print(out)


def _of_model(folders: Sequence[Path], args: argparse.Namespace) -> str:
    from remanence.core.errors import SettingsError
    from remanence.gathering.model import kept_photographs, model_view
    from remanence.report.exhibit import Missing
    from remanence.report.model_view import model_page

    if len(folders) > 1 or args.readings:
        raise SettingsError("a model has a page by itself, without --readings: name it alone")
    hidden = Missing("Not shown: photographs were not asked for.")
    kept = hidden if args.images is False else kept_photographs(folders[0])
    return model_page(model_view(folders[0]), kept)


def _gathered(runs: Sequence[Path], quiet: bool) -> dict[Path, Exhibits]:
    from remanence.cli.progress import watching
    from remanence.gathering.exhibits import gather

    with watching(quiet) as progress:
        return {run: gather(run, progress) for run in runs}
