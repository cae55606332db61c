"""Who may ask: by the name that the server is called, the page that asks, and the token."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from remanence.serve.refused import Refused, answer

SAFE = ("GET", "HEAD", "OPTIONS")
OURS = ("same-origin", "none")  # what a browser says of a page of ours, and of an address typed in


@dataclass(frozen=True)
class Rules:
    """hosts: what the server may be called, None is anything. token: None asks for none.

    is_open: of a path, whether it takes no token: it tells nothing of the model.
    """

    hosts: frozenset[str] | None
    token: str | None
    is_open: Callable[[str], bool]

    def check(self, method: str, path: str, headers: Headers) -> None:
        """Raise Refused where a request breaks one of them."""
        host = self._host(headers)
        if method not in SAFE:
            _check_origin(host, headers)
        if self.token is not None and not self.is_open(path):
            scheme, _, given = headers.get("authorization", "").partition(" ")
            is_right = hmac.compare_digest(given.strip().encode(), self.token.encode())
            if scheme.lower() != "bearer" or not is_right:
                raise Refused(
                    401, "the token is missing or wrong: send Authorization: Bearer TOKEN"
                )

    def _host(self, headers: Headers) -> str:
        """Name and port that the server is called by."""
        hosts = headers.getlist("host")
        host = hosts[0] if len(hosts) == 1 else ""
        name = _name(host)
        if not name or (self.hosts is not None and name not in self.hosts):
            raise Refused(403, "this server does not go by that name; see --allow-name")
        return host


class Guard:
    """Answers what is refused itself, and hands on the rest."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self._rules.check(scope["method"], scope["path"], Headers(scope=scope))
            except Refused as refusal:
                await answer(refusal.status, str(refusal))(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _check_origin(host: str, headers: Headers) -> None:
    """Browsers say which page a request comes from; it has to be one of ours."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    is_other = origin is not None and origin.partition("://")[2].lower() != host.lower()
    if is_other or (site is not None and site not in OURS):
        raise Refused(403, "the request comes from a page of somebody else: it is refused")


def _name(host: str) -> str:
    """The name without its port; nothing where it is malformed."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
