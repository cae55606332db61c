"""One HTML page of every table and figure, that needs nobody, not even a network."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from remanence.reproduce.command import command
from remanence.reproduce.ledger import Ledger
from remanence.reproduce.lines import lines
from remanence.reproduce.measured import measure
from remanence.reproduce.paper import tables
from remanence.reproduce.text import beside, ours

TEMPLATES = Path(__file__).parent
STYLE = Path(__file__).parents[2] / "report" / "page" / "page.css"


def website(ledger: Ledger, drawn: Mapping[str, Sequence[Path]]) -> str:
    """The page, as text; `drawn` are the pictures of each table."""
    return _render(
        style=STYLE.read_text(encoding="utf-8"),
        tables=[(table, measure(table, ledger)) for table in tables().values()],
        lines=lines(ledger),
        pictures={name: [_inlined(path) for path in paths] for name, paths in drawn.items()},
        ours=ours,
        beside=beside,
        command=command,
    )


def _inlined(picture: Path) -> str:
    content = base64.b64encode(picture.read_bytes()).decode()
    return f"data:image/svg+xml;base64,{content}"


def _render(**content: Any) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("results.html").render(**content)
