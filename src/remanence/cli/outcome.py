"""What a lesson came to, and what versions there are, as tables."""

from __future__ import annotations

import math

from rich import box
from rich.table import Table
from rich.text import Text

from remanence.cli.tables import console
from remanence.model.description import Description, KnownClass
from remanence.model.folder import ModelFolder


def print_outcome(folder: ModelFolder, version: Description) -> None:
    """Accuracy on what was held out, and what was forgotten."""
    new = [one for one in version.classes if one.version == version.version]
    added = f", {len(new)} of them new" if version.parent else ""
    took = f", in {version.seconds:.0f} s" if version.seconds else ""
    out = console()
    classes = f"{len(version.classes)} classes{added}"
    out.print(Text(f"{folder.path}: version {version.version}, {classes}{took}"))
    for line in taught(folder, version):
        out.print(Text(line))
    out.print(_accuracies(version))
    lost = [one for one in version.classes if _lost(one, version) > 0]
    if lost:
        out.print("\nrecognised less often than before:")
        out.print(_losses(lost, version))
    for line in notes(version):
        out.print(Text(line))


def taught(folder: ModelFolder, version: Description) -> list[str]:
    """How many photographs of new classes were learned from, and how many more of known ones."""
    before = folder.describe(version.parent).classes if version.parent else ()
    known = {one.name: one.photographs for one in before}
    parts = {
        "new classes": [one for one in version.classes if one.name not in known],
        "more photographs of known classes": [
            one for one in version.classes if one.photographs > known.get(one.name, math.inf)
        ],
    }
    return [
        f"{what}: " + ", ".join(f"{c.name} ({c.photographs - known.get(c.name, 0)})" for c in some)
        for what, some in parts.items()
        if some
    ]


def notes(version: Description) -> list[str]:
    """What is kept, and how sure one may be."""
    held = sum(one.held_out for one in version.classes)
    small = "; so few that a single one counts" if held < 50 else ""
    return [
        f"kept for later: {kept_summary(version)}",
        f"measured on {held} photographs, before they were learned from as well{small}",
        f"probabilities are calibrated on the same ones (temperature {version.temperature:.3g})",
    ]


def kept_summary(version: Description) -> str:
    """How many photographs are kept, and how large they are."""
    size = sum(one.bytes for one in version.kept)
    return f"{len(version.kept)} photographs, {size / 1e6:.1f} MB" if version.kept else "nothing"


def percent(value: float | None) -> str:
    """One digit after the point; a dash where nothing was measured."""
    return "-" if value is None else f"{value:.1f} %"


def points(value: float | None) -> str:
    """The same for a difference."""
    return "-" if value is None else f"{value:.1f}"


def plain_table(*headings: str) -> Table:
    """A table whose first column is text and whose others are numbers."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", no_wrap=True)
    return table


def versions_table(folder: ModelFolder) -> Table:
    """A row for each version; the one in use has a star."""
    headings = ("version", "made", "from", "classes", "all", "old", "new", "forgotten", "kept", "")
    table = plain_table(*headings)
    for number in folder.versions:
        one = folder.describe(number)
        result = one.measured
        table.add_row(
            f"{number}{' *' if number == folder.current else ''}",
            one.made,
            str(one.parent or "-"),
            str(len(one.classes)),
            *(percent(value) for value in (result.all, result.old, result.new)),
            points(result.forgotten),
            str(len(one.kept)),
            "refused" if one.refused else "",
        )
    return table


def _accuracies(version: Description) -> Table:
    result = version.measured
    table = plain_table("held-out photographs of", "now", "before", "forgotten")
    table.add_row("all classes", percent(result.all), "", "")
    if version.parent:
        forgotten = f"{points(result.forgotten)} points"
        table.add_row("old classes", percent(result.old), percent(result.before), forgotten)
        table.add_row("new classes", percent(result.new), "", "")
    return table


def _losses(classes: list[KnownClass], version: Description) -> Table:
    table = plain_table("class", "learned in version", "before", "now", "lost")
    for one in sorted(classes, key=lambda one: -_lost(one, version)):
        before, now = _then_and_now(one, version)
        lost = points(_lost(one, version))
        table.add_row(Text(one.name), str(one.version), percent(before), percent(now), lost)
    return table


def _then_and_now(one: KnownClass, version: Description) -> tuple[float | None, float | None]:
    before = one.remembered.get(version.parent) if version.parent else None
    return before, one.remembered.get(version.version)


def _lost(one: KnownClass, version: Description) -> float:
    before, now = _then_and_now(one, version)
    return 0.0 if before is None or now is None else before - now
