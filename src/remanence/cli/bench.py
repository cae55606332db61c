"""Measure how fast this machine is, as ratios of two sides that take turns in one process.

examples:
  remanence bench                              # everything: about twelve minutes on two cores
  remanence bench --quick                      # a first impression, in a minute or two
  remanence bench --only colliding,floor --repeat 9
  remanence bench --out results/speed/mine.json
  remanence bench --show results/speed/mine.json --markdown

A ratio is the median over turns, with the quartiles behind it. CIFAR-100 is measured on where it is
found, else made images of the same sizes. docs/speed.md explains what stands against what.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from remanence.cli.words import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remanence.bench.shared.table import Measured
    from remanence.core.progress import Progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    add = parser.add_argument
    add("--list", action="store_true", help="what is measured, one line each; measure nothing")
    add("--only", metavar="NAMES", help="only these, as in colliding,floor")
    add("--quick", action="store_true", help="few and short turns: a first impression")
    add("--repeat", type=count, metavar="TURNS", help="of each side (default: each its own)")
    add("--threads", type=count, help="of torch (default: its own choice)")
    add("--data", metavar="DIR", help="where CIFAR-100 is (default: REMANENCE_DATA, the cache)")
    add("--out", type=Path, metavar="FILE", help="keep the result as JSON")
    add("--show", type=Path, metavar="FILE", help="what was kept earlier; measure nothing")
    add("--markdown", action="store_true", help="the table as a page has it")
    add("--quiet", action="store_true", help="no progress, only the result")


def call(args: argparse.Namespace) -> None:
    """Measure, or show what was measured."""
    if args.list:
        _list()
    elif args.show:
        from remanence.bench.shared.table import Measured

        _print(Measured.read(args.show), args.markdown)
    else:
        _measure(args)


def _list() -> None:
    from remanence.core import choices

    names = choices.names("bench")
    width = max(map(len, names))
    for name in names:
        print(f"{name:{width}}  {choices.summary('bench', name)}")


def _measure(args: argparse.Namespace) -> None:
    from remanence.bench.shared.table import Measured
    from remanence.cli.progress import watching
    from remanence.core import files

    names = _chosen(args.only)
    if args.out:
        files.make_folder(args.out.parent)
    with watching(args.quiet, "benchmarks") as progress:
        about, rows = _rows(args, names, progress)
    measured = Measured(about, rows)
    if args.out:
        measured.write(args.out)
    _print(measured, args.markdown)


def _chosen(only: str | None) -> list[str]:
    from remanence.core import choices
    from remanence.core.errors import SettingsError
    from remanence.core.settings import nearest

    known = choices.names("bench")
    names = choices.chain_names("bench", only) if only is not None else known
    for name in names:
        if name not in known:
            raise SettingsError(f"--only: no benchmark by the name '{name}'{nearest(name, known)}")
    if not names:
        raise SettingsError(f"--only: name at least one of {', '.join(known)}")
    return names


def _rows(
    args: argparse.Namespace, names: Sequence[str], progress: Progress
) -> tuple[dict[str, Any], dict[str, Any]]:
    import tempfile

    from remanence.bench.base import Bench, Benchmark
    from remanence.bench.shared.about import about
    from remanence.bench.shared.material import material
    from remanence.core import choices
    from remanence.core.machine import Machine

    device = Machine(threads=args.threads).prepare()
    progress.doing("reading the data")
    splits, is_real = material(args.data)
    rows = {}
    with tempfile.TemporaryDirectory(prefix="remanence-bench-") as folder:
        bench = Bench(splits, is_real, device, args.quick, args.repeat, Path(folder), progress)
        progress.planned(len(names))
        for name in names:
            progress.doing(f"{name}: {choices.summary('bench', name)}")
            rows[name] = tuple(cast(Benchmark, choices.build("bench", {"name": name})).rows(bench))
            progress.stepped()
    return about(bench), rows


def _print(measured: Measured, as_page: bool) -> None:
    from remanence.bench.shared.table import as_markdown, as_table, headline
    from remanence.cli.tables import console

    if as_page:
        print(as_markdown(measured), end="")
        return
    console().print(headline(measured.about), highlight=False)
    console().print(as_table(measured))
