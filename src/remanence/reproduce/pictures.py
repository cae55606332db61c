"""The paper's figures, drawn from the cells that are measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from remanence.core import files
from remanence.metrics import Spread, accuracy_matrix, forgetting
from remanence.report.ages import Ages, ages_figure
from remanence.report.figure import Sides, accuracy_figure
from remanence.report.panel import Curve, Panel
from remanence.reproduce.cost import CLASSES, IMAGES_PER_CLASS
from remanence.reproduce.ledger import Entry, Ledger
from remanence.reproduce.measured import Measured, measure
from remanence.reproduce.paper import Cell, Column, Row, Table
from remanence.stream import group_sizes

Found = Mapping[tuple[str, str], Measured]
Run = tuple[tuple[float, ...], tuple[float, ...]]  # values across, values up
Picture = Callable[[Path], None]


def draw(table: Table, ledger: Ledger, folder: Path) -> list[Path]:
    """The pictures of a table that is a figure, as files; none where nothing is measured."""
    drawn = []
    for name, picture in pictures(table, measure(table, ledger)).items():
        files.make_folder(folder)
        drawn.append(folder / f"{name}.svg")
        picture(drawn[-1])
    return drawn


def pictures(table: Table, found: Found) -> dict[str, Picture]:
    """How to draw what there is, by the names of the files."""
    if not any(one.spread for one in found.values()) or not table.figure:
        return {}
    if table.figure == "curves":
        lost = Sides(up="forgetting (points)")
        return {
            "curves-accuracy": _lines(_by_column(table, found, _accuracy)),
            "curves-forgetting": _lines(_by_column(table, found, _forgetting), lost),
        }
    if table.figure == "ages":
        return {"ages": lambda path: ages_figure(_ages(table, found), path)}
    across = {
        "replay": ("images kept of each class", lambda cell: cell.experiment.memory.per_class),
        "balance": ("weight of the classification loss", _weight),
    }
    label, place = across[table.figure]
    sides = Sides(label, by_factors=table.figure == "balance")
    return {table.figure: _lines(_by_protocol(table, found, place), sides)}


def _lines(panels: Sequence[Panel], sides: Sides | None = None) -> Picture:
    return lambda path: accuracy_figure(panels, path, sides)


# A panel for each column


def _by_column(table: Table, found: Found, run: Callable[[Entry, Row], Run]) -> list[Panel]:
    panels = []
    for column in table.columns:
        measured = [(row, found[row.name, column.name]) for row in _rows(table, found, column)]
        title, labels = _marked(column.label, measured)
        curves = []
        for label, (row, one) in zip(labels, measured, strict=True):
            runs = [run(entry, row) for entry in one.entries]
            curves.append(Curve(label, runs[0][0], tuple(up for _, up in runs)))
        if curves:
            panels.append(Panel(title, tuple(curves)))
    return panels


def _accuracy(entry: Entry, row: Row) -> Run:
    summary = entry.summary(row.reading)
    return summary.classes, summary.curve


def _forgetting(entry: Entry, row: Row) -> Run:
    matrix = accuracy_matrix(entry.records(), row.reading)
    classes = entry.summary(row.reading).classes[1:]
    return classes, tuple(forgetting(matrix, t) for t in range(1, len(matrix)))


def _loss(entry: Entry, row: Row) -> Run:
    """What each increment's classes have lost since they were learned."""
    matrix = accuracy_matrix(entry.records(), row.reading)
    lost = [matrix[j][j] - last for j, last in enumerate(matrix[-1])]
    return tuple(range(len(lost))), tuple(lost)


def _ages(table: Table, found: Found) -> list[Ages]:
    panels = _by_column(table, found, _loss)
    columns = [one for one in table.columns if any(_rows(table, found, one))]
    return [
        Ages(panel.title, _images_of_each_age(table, column), panel.curves)
        for panel, column in zip(panels, columns, strict=True)
    ]


def _images_of_each_age(table: Table, column: Column) -> tuple[float, ...]:
    """Of a class, by the increment it came with, while the last increment is learned."""
    cell = next(cell for cell in table.cells if cell.column is column)
    resolved = cell.experiment.resolved()
    scale = resolved.data.scale
    sizes = group_sizes(resolved.stream, CLASSES[scale])
    kept = float(resolved.memory.share(sum(sizes[:-1])))
    return (*[kept] * (len(sizes) - 1), IMAGES_PER_CLASS[scale])


# A panel for each protocol, a line through the columns


def _by_protocol(table: Table, found: Found, place: Callable[[Cell], float]) -> list[Panel]:
    """Rows that are called 'what, T = ...' are of that protocol; those without are of one."""
    panels = []
    drawn = [row for row in table.rows if not row.compare]
    for title in dict.fromkeys(map(_protocol, drawn)):
        rows = [row for row in drawn if _protocol(row) == title]
        points = [(row, list(_points(table, row, found, place))) for row in rows]
        points = [(row, some) for row, some in points if some]
        shown, labels = _marked(title or table.title, [(row, some[0][1]) for row, some in points])
        curves = [_through(label, some) for label, (_, some) in zip(labels, points, strict=True)]
        printed = [curve for row in rows for curve in _printed(table, row, place)]
        if curves:
            panels.append(Panel(shown, tuple(curves)))
        if curves and printed:
            panels.append(Panel(f"{title or table.title}: the paper's", tuple(printed)))
    return panels


def _protocol(row: Row) -> str:
    _, comma, protocol = row.label.partition(", T = ")
    return f"T = {protocol}" if comma else ""


def _points(
    table: Table, row: Row, found: Found, place: Callable[[Cell], float]
) -> Iterator[tuple[float, Measured]]:
    for column in table.columns:
        one, cell = found.get((row.name, column.name)), table.cell(row, column)
        if cell is not None and one is not None and one.spread is not None:
            yield place(cell), one


def _through(label: str, points: Sequence[tuple[float, Measured]]) -> Curve:
    """A run for each seed where every point has the same seeds, else one of means."""
    across = tuple(place for place, _ in points)
    seeds = {tuple(entry.seed for entry in one.entries) for _, one in points}
    values = [one.values for _, one in points]
    same = len(seeds) == 1 and len({len(some) for some in values}) == 1
    runs = tuple(zip(*values, strict=True)) if same else (tuple(map(_mean, values)),)
    return Curve(label, across, runs)


def _mean(values: Sequence[float]) -> float:
    return Spread.of(values).mean


def _printed(table: Table, row: Row, place: Callable[[Cell], float]) -> Iterator[Curve]:
    """What the paper prints for a row, if anything."""
    cells = [table.cell(row, column) for column in table.columns]
    known = [(place(cell), cell.paper) for cell in cells if cell and cell.paper is not None]
    if known:
        across, up = zip(*known, strict=True)
        yield Curve(row.label, across, (up,))


def _weight(cell: Cell) -> float:
    return cell.experiment.method.classification_weight


# What must be said wherever a figure appears


def _rows(table: Table, found: Found, column: Column) -> Iterator[Row]:
    """Those that have a figure in a column."""
    for row in table.rows:
        one = found.get((row.name, column.name))
        if one is not None and one.spread is not None and not row.compare:
            yield row


def _marked(title: str, measured: Sequence[tuple[Row, Measured]]) -> tuple[str, list[str]]:
    """Title and labels with what is special about the runs: once for all, if it is the same."""
    names = [row.label.partition(", T = ")[0] for row, _ in measured]
    said = [", ".join(one.remarks) for _, one in measured]
    if len(set(said)) == 1:
        return f"{title}: {said[0]}" if said[0] else title, names
    marked = zip(names, said, strict=True)
    return title, [f"{name}: {mark}" if mark else name for name, mark in marked]
