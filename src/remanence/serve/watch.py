"""What is said of every request: headers that hold browsers back, counts, and a line in the log."""

from __future__ import annotations

import logging
import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remanence.serve.counts import Counts
from remanence.serve.refused import answer

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
NOT_KEPT = "no-store"
LOG = logging.getLogger("remanence.serve")


class Watch:
    """Around everything else: whatever goes wrong within is answered in one line."""

    def __init__(self, app: ASGIApp, counts: Counts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        statuses: list[int] = []

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                _add_headers(message)
            await send(message)

        begun = time.monotonic()
        try:
            await self._app(scope, receive, watched)
        except Exception:
            LOG.exception("%s %s failed", scope["method"], _plain(scope["path"]))
            if not statuses:
                line = "something is wrong within; the server's own output says what"
                await answer(500, line)(scope, receive, watched)
        finally:
            status, seconds = statuses[0] if statuses else 0, time.monotonic() - begun
            self._counts.request(_route(scope), scope["method"], status, seconds)
            what = (scope["method"], _plain(scope["path"]), status, 1000 * seconds)
            LOG.info("%s %s %d %.0f ms", *what)


def _add_headers(message: Message) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in HEADERS.items():
        headers[name] = value
    headers.setdefault("Cache-Control", NOT_KEPT)


def _route(scope: Scope) -> str:
    """The path as the API has it: what is made up by clients would be counted without end."""
    return getattr(scope.get("route"), "path", "other")


def _plain(path: str) -> str:
    """Without what would end the line in the log, or colour it."""
    return "".join(letter if letter.isprintable() else "?" for letter in path)[:200]
