"""One page for one run or several: a single HTML file that needs nobody, not even a network."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remanence import metrics
from remanence.metrics import Spread, Summary
from remanence.report.account import Account, Group, different_settings, grouped
from remanence.report.chart import Chart, line_chart
from remanence.report.exhibit import Exhibits
from remanence.report.panel import Curve, Panel
from remanence.report.view import RunView, spent

FOLDER = Path(__file__).parent / "page"
COLUMNS: tuple[tuple[str, Callable[[Summary], float | None]], ...] = (
    ("average accuracy", lambda one: one.average_accuracy),
    ("last accuracy", lambda one: one.last_accuracy),
    ("old classes", lambda one: one.old_accuracy),
    ("new classes", lambda one: one.new_accuracy),
    ("forgetting", lambda one: one.forgetting),
    ("strict forgetting", lambda one: one.forgetting_strict),
)


@dataclass(frozen=True)
class Row:
    """A line of the table of results; runs of several seeds are one line."""

    label: str
    reading: str
    cells: tuple[Spread | None, ...]
    seconds: float

    @property
    def time(self) -> str:
        """How long the training of one run took."""
        return spent(self.seconds) if self.seconds else "–"


@dataclass(frozen=True)
class Overview:
    """All runs beside each other."""

    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    charts: tuple[Chart, ...]
    values: tuple[tuple[str, Curve], ...]
    differing: Mapping[str, list[Any]]


def report_page(
    accounts: Sequence[Account], exhibits: Mapping[Path, Exhibits], readings: Sequence[str] = ()
) -> str:
    """The page, as text. `exhibits` are of run folders; `readings` are those wanted, if not all."""
    groups = grouped(accounts)
    views = [RunView(account, exhibits[account.folder]) for account in accounts]
    return render(
        "page.html",
        title=groups[0].label if len(groups) == 1 else f"{len(groups)} experiments",
        groups=groups,
        overview=_overview(groups, readings),
        views=views,
    )


def _overview(groups: Sequence[Group], wanted: Sequence[str]) -> Overview:
    alone = len(groups) == 1
    rows, drawn = [], []
    for group in groups:
        own, all_ = group.first.readings[0], group.first.readings
        shown = list(wanted) or (all_ if alone else group.first.main_readings)
        rows += [_row(group, reading) for reading in shown]
        lines = list(wanted) or (group.first.main_readings if alone else [own])
        drawn += [(group, reading, _line_label(group, reading, alone, lines)) for reading in lines]
    accuracy = [Curve.of(label, group.summaries(reading)) for group, reading, label in drawn]
    lost = [_forgetting(label, group, reading) for group, reading, label in drawn]
    lost = [curve for curve in lost if curve.classes]
    charts = [line_chart(Panel("Accuracy", tuple(accuracy)), "classes known")]
    if lost:
        charts.append(line_chart(Panel("Forgetting", tuple(lost)), "classes known"))
    return Overview(
        headings=tuple(name for name, _ in COLUMNS),
        rows=tuple(rows),
        charts=tuple(charts),
        values=tuple(("accuracy", c) for c in accuracy) + tuple(("forgetting", c) for c in lost),
        differing=different_settings(groups),
    )


def _line_label(group: Group, reading: str, alone: bool, lines: Sequence[str]) -> str:
    if alone:
        return reading
    return group.label if len(lines) == 1 else f"{group.label}: {reading}"


def _row(group: Group, reading: str) -> Row:
    summaries = group.summaries(reading)
    cells = tuple(_spread([value(one) for one in summaries]) for _, value in COLUMNS)
    seconds = [sum(account.seconds.values()) for account in group.accounts]
    return Row(group.label, reading, cells, sum(seconds) / len(seconds))


def _spread(values: Sequence[float | None]) -> Spread | None:
    measured = [value for value in values if value is not None and not math.isnan(value)]
    return Spread.of(measured) if measured else None


def _forgetting(label: str, group: Group, reading: str) -> Curve:
    """Forgetting after each increment that follows the base."""
    runs = []
    for account in group.accounts:
        matrix = metrics.accuracy_matrix(account.records, reading)
        runs.append(tuple(metrics.forgetting(matrix, t) for t in range(1, len(matrix))))
    return Curve(label, group.summaries(reading)[0].classes[1:], tuple(runs))


def render(template: str, **content: Any) -> str:
    """A page in the look of all pages."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = _percent
    environment.filters["plain"] = _plain
    environment.filters["spent"] = spent
    script = _part("page.js")
    common = {"style": _part("page.css"), "script": script, "script_hash": _hash(script)}
    return environment.get_template(template).render(**common, **content)


def _percent(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:z.1f}"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _part(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """What tells the browser that this script, and no other, is ours."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
