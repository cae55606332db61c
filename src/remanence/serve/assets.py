"""The files of the page; they tell nothing of the model, so nobody needs a token for them."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from starlette.responses import Response

PAGE = files("remanence.serve") / "page"
LOOK = files("remanence.report") / "page" / "page.css"  # one look for all pages
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


class Asset(NamedTuple):
    """A file, and of what kind it is."""

    content: bytes
    kind: str

    def response(self) -> Response:
        """The file, which the browser has to ask for again."""
        kind, headers = f"{self.kind}; charset=utf-8", {"Cache-Control": "no-cache"}
        return Response(self.content, media_type=kind, headers=headers)


def assets() -> dict[str, Asset]:
    """Each file by the path that it is asked for under."""
    named = {one.name: one.read_bytes() for one in PAGE.iterdir() if one.is_file()}
    named["look.css"] = LOOK.read_bytes()
    found = {f"/{name}": Asset(content, _kind(name)) for name, content in named.items()}
    found["/"] = found.pop("/index.html")
    return found


def _kind(name: str) -> str:
    return KINDS["." + name.rpartition(".")[2]]
