"""What may be wished of a server."""

from __future__ import annotations

import ipaddress
from importlib.util import find_spec
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from remanence.core.errors import SettingsError
from remanence.core.settings import AtLeastOne, Settings, refused, settings
from remanence.learning.wishes import FORM, Budget, Wishes

TAKES = {
    "fastapi": "fastapi",
    "uvicorn": "uvicorn",
    "python_multipart": "python-multipart",
    "prometheus_client": "prometheus-client",
}
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _bytes(words: Any) -> Any:
    """20MB, or a plain number of bytes."""
    if not isinstance(words, str):
        return words
    if not FORM.fullmatch(words.strip()):
        raise refused(f"'{words}' is no size, as in 20MB")
    wished = Budget.of(words)
    return wished.size if wished.size is not None else wished.per_class


Size = Annotated[int, BeforeValidator(_bytes), Field(ge=1)]
Port = Annotated[int, Field(ge=0, le=65535)]


@settings
class Serving(Settings):
    """How a model is served.

    host, port: where it listens; port 0 is any that is free.
    token: whoever asks must know it; without, everybody may who is on this machine.
    names: under which the server may be called, where it listens on this machine alone.
    max_bytes: of one photograph. max_lesson: bytes of all the photographs of a lesson.
    at_once: photographs that may be on their way in. patience: seconds of grace for a slow upload.
    teaches: whether it may be taught. wishes: of what it is taught.
    """

    host: str = "127.0.0.1"
    port: Port = 8000
    token: Annotated[str, Field(min_length=8, pattern=r"^[ -~]*$")] | None = None
    names: tuple[str, ...] = ()
    max_bytes: Size = 20_000_000
    max_lesson: Size = 1_000_000_000
    at_once: AtLeastOne = 16
    patience: Annotated[float, Field(gt=0)] = 20.0
    teaches: bool = True
    wishes: Wishes = Wishes()

    @property
    def is_private(self) -> bool:
        """Whether nobody can reach it but who is on this machine, and no proxy says otherwise."""
        return is_loopback(self.host) and not self.names

    @property
    def hosts(self) -> frozenset[str] | None:
        """What it may be called; None is anything, where the token alone decides.

        A page of somebody else's whose name is made to point at this machine (DNS rebinding) calls
        it by that name, and is refused.
        """
        if not is_loopback(self.host):
            return None
        return frozenset(name.lower() for name in (*LOOPBACK, self.host, *self.names))


def is_loopback(host: str) -> bool:
    """Whether an address is one of this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_installed() -> None:
    """It takes the extra `serve`."""
    missing = [name for module, name in TAKES.items() if find_spec(module) is None]
    if missing:
        raise SettingsError(f"serving takes {', '.join(missing)}: pip install 'remanence[serve]'")
