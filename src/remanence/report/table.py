"""The small table at the end of a run: four numbers for each row, over all its seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from remanence.metrics import Spread, Summary

HEADINGS = ("average\naccuracy", "last\naccuracy", "forgetting", "strict\nforgetting")
Row = tuple[str, Sequence[Summary]]


def summary_table(rows: Sequence[Row]) -> Table:
    """A row for each label: accuracies and both forms of forgetting, mean ± std (n).

    A label without summaries is a heading for the rows below it.
    """
    caption = "percent: mean ± standard deviation (seeds)"
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, caption=caption)
    table.add_column("")
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for label, summaries in rows:
        if not summaries:
            table.add_row(Text(label, style="bold"))
            continue
        table.add_row(
            Text(label),
            _cell([summary.average_accuracy for summary in summaries]),
            _cell([summary.last_accuracy for summary in summaries]),
            _cell([summary.forgetting for summary in summaries]),
            _cell([summary.forgetting_strict for summary in summaries]),
        )
    return table


def _cell(values: Sequence[float | None]) -> str:
    measured = [value for value in values if value is not None and not math.isnan(value)]
    return str(Spread.of(measured)) if measured else "-"
