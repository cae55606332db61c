"""The paper's tables as data: rows and columns that are experiments, and the printed figures."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from remanence.core.errors import SettingsError
from remanence.core.settings import nearest
from remanence.experiment import Experiment
from remanence.reproduce.shape import Shape, shape

Measure = Literal["accuracy", "forgetting"]
Comparison = Literal["", "gain", "improvement"]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


@dataclass(frozen=True)
class Column:
    """On what is learned. set: settings."""

    name: str
    label: str
    set: Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """What is learned and how it is read; or, with `compare`, two other rows against each other.

    tree: method and effects. set: settings, laid over those of the column.
    paper: the printed figures in the order of the columns, None where there is none.
    columns: the only ones that the row is about, if it is not about all.
    of: the rows that are compared: the better one, then the one that it is better than.
    """

    name: str
    label: str
    tree: Mapping[str, Any] = field(default_factory=dict)
    reading: str = "cnn"
    measure: Measure = "accuracy"
    set: Mapping[str, Any] = field(default_factory=dict)
    paper: tuple[float | None, ...] = ()
    columns: tuple[str, ...] = ()
    compare: Comparison = ""
    of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """A row on a column: an experiment at full length, and what the paper prints for it."""

    row: Row
    column: Column
    paper: float | None

    @cached_property
    def experiment(self) -> Experiment:
        """What is to be run for it."""
        return Experiment.of(self.row.tree, self.column.set, self.row.set)

    @cached_property
    def shape(self) -> Shape:
        """What shapes its result."""
        return shape(self.experiment)


@dataclass(frozen=True)
class Table:
    """One table or figure of the paper."""

    name: str
    title: str
    about: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    tolerance: float
    figure: str = ""

    def row(self, name: str) -> Row:
        """The row of this name."""
        return next(row for row in self.rows if row.name == name)

    def cell(self, row: Row, column: Column) -> Cell | None:
        """What stands where they meet; None where the row is not about the column."""
        if row.columns and column.name not in row.columns:
            return None
        place = self.columns.index(column)
        return Cell(row, column, row.paper[place] if row.paper else None)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All that are experiments, row by row."""
        rows = [row for row in self.rows if not row.compare]
        met = (self.cell(row, column) for row in rows for column in self.columns)
        return tuple(cell for cell in met if cell is not None)

    def part(self, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> Table:
        """The table with only the rows and columns of these names, which may be patterns (r5-*).

        The rows that a chosen comparison compares are chosen with it.
        """
        chosen = _picked(f"the rows of {self.name}", self.rows, rows)
        needed = {name for row in chosen for name in row.of} | {row.name for row in chosen}
        kept = _picked(f"the columns of {self.name}", self.columns, columns)
        places = [self.columns.index(column) for column in kept]
        trimmed = tuple(
            _with_paper(row, tuple(row.paper[place] for place in places if row.paper))
            for row in self.rows
            if row.name in needed
        )
        return Table(
            self.name, self.title, self.about, trimmed, tuple(kept), self.tolerance, self.figure
        )


@cache
def tables() -> dict[str, Table]:
    """Every table and figure by name, in the order of the file."""
    file = resources.files("remanence").joinpath("reproduce", "tables.toml")
    return _tables(tomllib.loads(file.read_text(encoding="utf-8")))


def table(name: str) -> Table:
    """The table of this name, or the one in a .toml file that is written as ours are."""
    if name.endswith(".toml"):
        return _own_table(Path(name))
    if name not in (known := tables()):
        raise SettingsError(f"no table is called '{name}'{nearest(name, known)}")
    return known[name]


def _own_table(path: Path) -> Table:
    try:
        found = _tables(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsError(f"{path} holds no table: {error}") from None
    if len(found) != 1:
        raise SettingsError(f"{path} holds {len(found)} tables: put each in a file of its own")
    return next(iter(found.values()))


def _tables(content: Mapping[str, Any]) -> dict[str, Table]:
    parts, tolerance = content.get("parts", {}), content["tolerance"]
    return {
        name: Table(
            name=name,
            rows=tuple(_row(one, parts) for one in table.pop("rows")),
            columns=tuple(Column(**one) for one in table.pop("columns")),
            tolerance=tolerance,
            **table,
        )
        for name, table in content["tables"].items()
    }


def _row(entry: dict[str, Any], parts: Mapping[str, Mapping[str, Any]]) -> Row:
    tree = parts[entry.pop("part")] if "part" in entry else {}
    for key in ("columns", "of"):
        entry[key] = tuple(entry.get(key, ()))
    paper = tuple(None if figure == "" else float(figure) for figure in entry.pop("paper", ()))
    return Row(tree=tree, paper=paper, **entry)


def _with_paper(row: Row, paper: tuple[float | None, ...]) -> Row:
    return Row(**{**vars(row), "paper": paper})


def _picked(what: str, named: Sequence[N], patterns: Sequence[str]) -> list[N]:
    """Those whose name fits one of the patterns, or all if there is none."""
    for pattern in patterns:
        if not any(fnmatchcase(one.name, pattern) for one in named):
            hint = nearest(pattern, [one.name for one in named])
            raise SettingsError(f"'{pattern}' is none of {what}{hint}")
    fits = [one for one in named if any(fnmatchcase(one.name, p) for p in patterns)]
    return fits if patterns else list(named)
