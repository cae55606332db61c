"""What the ledger says, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from remanence.reproduce.command import command
from remanence.reproduce.lines import Line
from remanence.reproduce.measured import Measured
from remanence.reproduce.paper import Column, Row, Table
from remanence.reproduce.text import beside, ours

Found = Mapping[tuple[str, str], Measured]
NOTHING = "No run of it is in the ledger yet."
MOST_NAMED = 8  # rows without a figure; the HTML page has them all
HEADINGS = ("learned", "read by", "schedule", "average accuracy", "forgetting", "printed")


def table_of_lines(some: Sequence[Line]) -> str:
    """Runs under their protocols, the most accurate first; and the commands that make them."""
    if not some:
        return NOTHING
    return "\n\n".join(
        f"**{protocol}**\n\n{_lines(list(under))}"
        for protocol, under in groupby(some, lambda one: one.protocol)
    )


def _lines(some: Sequence[Line]) -> str:
    rows = [
        (
            one.learned,
            f"`{one.reading}`",
            one.schedule or "as published",
            str(one.accuracy),
            str(one.forgetting) if one.forgetting else "",
            ", ".join(one.printed),
            " ".join(f"{step:.1f}" for step in one.steps),
        )
        for one in some
    ]
    commands = dict.fromkeys(filter(None, (command(one.experiment) for one in some)))
    quoted = ["", "```", *commands, "```"] if commands else []
    return "\n".join([*_table((*HEADINGS, "after each increment"), rows), *quoted])


def paper_table(table: Table, found: Found, pictures: Sequence[Path]) -> str:
    """Ours beside the paper's, as far as something is measured; and what was not run."""
    rows = [row for row in table.rows if _is_measured(row, table.columns, found)]
    columns = [one for one in table.columns if _is_measured_in(one, rows, found)]
    heading = f"### {table.title}\n\n{table.about}"
    if not rows:
        return f"{heading}\n\nNot run: `remanence reproduce {table.name} --list`."
    cells = [
        (row.label, *(_cell(found.get((row.name, column.name))) for column in columns))
        for row in rows
    ]
    drawn = [f"![{table.title}]({picture.as_posix()})" for picture in pictures]
    shown = _table(("", *(column.label for column in columns)), cells)
    return "\n\n".join([heading, *drawn, "\n".join(shown), *_left_out(table, rows, columns)])


def _cell(one: Measured | None) -> str:
    if one is None:
        return ""
    return "<br>".join(filter(None, (ours(one), beside(one), *one.remarks)))


def _left_out(table: Table, rows: Sequence[Row], columns: Sequence[Column]) -> Iterator[str]:
    without = [one.label for one in table.rows if one not in rows]
    apart = [one.label for one in table.columns if one not in columns]
    if len(without) > MOST_NAMED:
        without = [f"{len(without)} of {len(table.rows)} rows"]
    if without or apart:
        yield f"Not run: {'; '.join([*apart, *without])}."


def _is_measured(row: Row, columns: Sequence[Column], found: Found) -> bool:
    cells = (found.get((row.name, column.name)) for column in columns)
    return any(one is not None and one.spread is not None for one in cells)


def _is_measured_in(column: Column, rows: Sequence[Row], found: Found) -> bool:
    return any(_is_measured(row, [column], found) for row in rows)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines]
