"""Everything that is written from the ledger: places in documents, pictures, and one HTML page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from remanence.core import choices, files
from remanence.core.errors import SettingsError
from remanence.core.settings import nearest
from remanence.reproduce.ledger import Ledger
from remanence.reproduce.lines import lines
from remanence.reproduce.measured import measure
from remanence.reproduce.pages import places
from remanence.reproduce.pages.markdown import paper_table, table_of_lines
from remanence.reproduce.pages.website import website
from remanence.reproduce.paper import tables
from remanence.reproduce.pictures import draw, pictures

FIGURES = Path("figures")
EMPTY = """\
# Results

What stands between the marks is written from the ledger by `remanence reproduce --pages`.

## The paper's tables

<!-- ledger: tables -->
<!-- end of ledger -->

## Shortened runs

<!-- ledger: shortened -->
<!-- end of ledger -->

## Runs of the published length

<!-- ledger: published -->
<!-- end of ledger -->
"""


def write_pages(ledger: Ledger, folder: Path) -> list[Path]:
    """Bring the documents in a folder up to date; what was written."""
    files.make_folder(folder)
    if not (folder / "results.md").exists():
        files.write(folder / "results.md", EMPTY)
    drawn = {name: draw(table, ledger, folder / FIGURES) for name, table in tables().items()}
    said = speaker(ledger)
    changed = [path for path in places.documents(folder) if places.fill(path, said)]
    page = folder / "results.html"
    files.write(page, website(ledger, drawn))
    return [*(path for some in drawn.values() for path in some), *changed, page]


def speaker(ledger: Ledger) -> Callable[[str], str]:
    """What belongs in a place, by what it is called."""
    known = lines(ledger)
    said: dict[str, Callable[[], str]] = {
        "tables": lambda: _tables(ledger),
        "shortened": lambda: table_of_lines([one for one in known if one.schedule]),
        "published": lambda: table_of_lines([one for one in known if not one.schedule]),
    }
    for method in choices.names("methods"):
        own = [one for one in known if one.experiment.method.name == method]
        said[f"method {method}"] = lambda own=own: table_of_lines(own)  # type: ignore[misc]

    def say(what: str) -> str:
        if what not in said:
            raise SettingsError(f"the ledger has nothing called '{what}'{nearest(what, said)}")
        return said[what]()

    return say


def _tables(ledger: Ledger) -> str:
    shown = []
    for table in tables().values():
        found = measure(table, ledger)
        drawn = [FIGURES / f"{name}.svg" for name in pictures(table, found)]
        shown.append(paper_table(table, found, drawn))
    return "\n\n".join(shown)
