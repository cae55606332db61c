"""What was measured, as data that can be read again, and as lines for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from remanence.bench.base import Row, Spread, Target
from remanence.core import files
from remanence.core.errors import FolderError

HEADINGS = ("benchmark", "what", "measured", "against", "ratio (quartiles)", "wanted", "met")


@dataclass(frozen=True)
class Measured:
    """The rows of each benchmark, and on what they were measured."""

    about: Mapping[str, Any]
    benchmarks: Mapping[str, tuple[Row, ...]]

    def write(self, path: Path) -> None:
        """Keep it as JSON."""
        tree = {
            "about": dict(self.about),
            "benchmarks": {
                name: [_told(row) for row in rows] for name, rows in self.benchmarks.items()
            },
        }
        files.make_folder(path.parent)
        files.write(path, json.dumps(tree, indent=2, ensure_ascii=False) + "\n")

    @staticmethod
    def read(path: Path) -> Measured:
        """What was kept."""
        try:
            tree = json.loads(path.read_text(encoding="utf-8"))
            rows = {name: tuple(map(_row, found)) for name, found in tree["benchmarks"].items()}
            return Measured(dict(tree["about"]), rows)
        except OSError as error:
            raise FolderError(f"cannot read {path}: {error.strerror or error}") from None
        except (ValueError, TypeError, KeyError, AttributeError):
            raise FolderError(
                f"{path} was not written by 'remanence bench --out': name another file"
            ) from None


def _told(row: Row) -> dict[str, Any]:
    return {**asdict(row), "is_met": row.is_met}


def _row(tree: Mapping[str, Any]) -> Row:
    told = {key: value for key, value in tree.items() if key != "is_met"}
    ratio, target = told.pop("ratio"), told.pop("target")
    return Row(
        **told
        | {
            "value": Spread(**told["value"]),
            "ratio": Spread(**ratio) if ratio else None,
            "target": Target(**target) if target else None,
        }
    )


def cells(name: str, row: Row) -> tuple[str, ...]:
    """A row as text, in the order of the headings."""
    judged = {None: "", True: "yes", False: "NO"}[row.is_met]
    what = f"{row.what} ({row.note})" if row.note else row.what
    return (name, what, _measured(row), row.against, _ratio(row.ratio), _wanted(row), judged)


def _measured(row: Row) -> str:
    return f"{_number(row.value.median)} {row.unit}"


def _ratio(ratio: Spread | None) -> str:
    if ratio is None:
        return ""
    return f"{_number(ratio.median)} ({_number(ratio.low)} to {_number(ratio.high)})"


def _wanted(row: Row) -> str:
    if row.target is None:
        return ""
    return f"{'at most' if row.target.at_most else 'at least'} {_number(row.target.limit)}"


def _number(value: float) -> str:
    """Three digits that count, and no more than two behind the point where it is above 1."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"


def headline(about: Mapping[str, Any]) -> str:
    """On what it was measured, in one line."""
    return (
        f"{about['processor']}, {about['threads']} threads, torch {about['torch']}, "
        f"{about['data']}, commit {about['commit'] or 'unknown'}, {about['date']}"
    )


def as_table(measured: Measured) -> Table:
    """The same for a terminal."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold")
    for name, rows in measured.benchmarks.items():
        for place, row in enumerate(rows):
            _, *rest = cells(name, row)
            table.add_row("" if place else name, *map(Text, rest))
    return table


def as_markdown(measured: Measured) -> str:
    """The same for a page."""
    lines = [f"*{headline(measured.about)}*", ""]
    lines += [_line(HEADINGS), _line(["---"] * len(HEADINGS))]
    lines += [_line(cells(*pair)) for pair in _flat(measured.benchmarks)]
    return "\n".join(lines) + "\n"


def _line(parts: Iterable[str]) -> str:
    return f"| {' | '.join(parts)} |"


def _flat(benchmarks: Mapping[str, tuple[Row, ...]]) -> Iterable[tuple[str, Row]]:
    for name, rows in benchmarks.items():
        yield from ((name, row) for row in rows)
