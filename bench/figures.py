"""Write the table of docs/reliability.md from results/reliability/*.json.

python bench/figures.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE, RESULTS = ROOT / "docs/reliability.md", ROOT / "results/reliability"
START, END = "<!-- figures: written by bench/figures.py -->\n", "<!-- end of figures -->"


def main() -> None:
    """Put the tables between the two marks."""
    page = PAGE.read_text(encoding="utf-8")
    inside = re.escape(START) + ".*?" + re.escape(END)
    tables = "\n\n".join(["\n".join(faults()), "\n".join(inputs()), "\n".join(lengths())])
    text = f"{START}\n{tables}\n\n{END}"
    PAGE.write_text(re.sub(inside, lambda _: text, page, flags=re.DOTALL), encoding="utf-8")


def faults() -> Iterator[str]:
    """What was done to runs."""
    found = _read("torture")
    yield from _heading(found)
    yield "| fault | run | tried | survived | refused | lost |\n|---|---|---|---|---|---|"
    for run in ("digits", "cifar100"):
        if run not in found:
            continue
        for kind, row in found[run]["faults"].items():
            yield _row(kind, run, row["tried"], row["survived"], row["refused"], row["lost"])
        row = found[run]["total"]
        yield _row("**all**", run, row["tried"], row["survived"], row["refused"], row["lost"])


def inputs() -> Iterator[str]:
    """What was read."""
    found = _read("fuzz")
    yield from _heading(found)
    yield "| input | tried | taken | refused in one line | slowest, s |\n|---|---|---|---|---|"
    for kind, row in found["properties"].items():
        tried = row["taken"] + row["refused"]
        yield _row(kind, tried, row["taken"], row["refused"], row["slowest_cpu_s"])


def lengths() -> Iterator[str]:
    """What was long and large."""
    found = _read("long")
    run, head, folder = found["run"], found["head"], found["folder"]
    yield from _heading(found)
    yield "| what | figure |\n|---|---|"
    for what, row in (("milliseconds", run["milliseconds_each"]), ("megabytes", run["megabytes"])):
        told = ", ".join(f"{row[part]:,.0f}" for part in ("first", "middle", "last"))
        yield _row(f"{run['increments']} increments: {what} at first, in the middle, at last", told)
    yield _row("the folder of that run, megabytes", run["folder_megabytes"])
    classes = f"a head of {head['classes']:,} classes and {head['width']} features"
    yield _row(f"{classes}: megabytes calculated", head["calculated_megabytes"])
    yield _row(f"{classes}: milliseconds for 500 images", head["milliseconds_for_500_images"])
    yield _row(f"{classes}: named rightly, percent", head["named_rightly_percent"])
    yield _row(f"{folder['photographs']:,} photographs found and split", _seconds(folder))


def _seconds(folder: dict[str, Any]) -> str:
    return f"{folder['seconds_to_load']} seconds"


def _heading(found: dict[str, Any]) -> Iterator[str]:
    where = f"{found['date']}, commit {found['commit']}, {found['machine']}"
    note = f" {found['note']}." if "note" in found else ""
    yield f"`{found['command']}` ({where}, {found['seconds'] // 60} minutes).{note}\n"


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


if __name__ == "__main__":
    main()
