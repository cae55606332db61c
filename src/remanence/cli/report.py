"""One page of runs, as a file that opens in any browser and needs no network.

Curves of accuracy and forgetting, the accuracy matrix, old against new, every class, the images
that are kept, what neighbours the colliding effect found and what momentum effect removal takes
out, settings and time. Runs that differ by their seeds alone are shown as mean and deviation.

examples:
  remanence report runs/digits-lucir-dde
  remanence report runs/lucir-* --readings cnn --out comparison.html
  remanence report runs/collected/* --plain
"""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where to put it (default: report.html in the run folder, or here for several)",
    )
    parser.add_argument("--readings", nargs="+", default=[], metavar="NAME", help="only these")
    parser.add_argument(
        "--plain", action="store_true", help="no images: neither the data nor torch are needed"
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
    accounts = [Account.read(run) for run in runs]
    exhibits = {run: Exhibits.missing("Images were not asked for (--plain).") for run in runs}
    files.write(out, report_page(accounts, exhibits, args.readings))
    print(out)
