"""From wishes to a server that runs until it is told to stop."""

from __future__ import annotations

import logging
import secrets
import signal
import socket
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import NoReturn

import uvicorn

from remanence.core.errors import Interrupted, SettingsError
from remanence.serve.app import application
from remanence.serve.connection import Connection
from remanence.serve.in_use import InUse
from remanence.serve.serving import Serving

CONNECTIONS = 256
GRACE = 5  # seconds that requests have to end when the server is told to stop
ANYWHERE = ("0.0.0.0", "::", "")


def serve(model: Path, serving: Serving, verbose: bool = False) -> NoReturn:
    """Serve a model until a signal comes, which is told as Interrupted."""
    in_use = InUse(model, serving.wishes.own_code)
    serving = with_token(serving)
    _log(verbose)
    with listening(serving) as listener:
        known = in_use.predictor.description
        what = f"version {known.version}, {len(known.classes)} classes"
        print(f"{model}: {what}, at {address(serving, listener)}", flush=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _interrupted)  # uvicorn ends first, then raises it again
        server_of(serving, in_use).run(sockets=[listener])
    raise SettingsError("the server could not start; its output says why")


def server_of(serving: Serving, in_use: InUse) -> uvicorn.Server:
    """A server, not running yet."""
    return uvicorn.Server(
        uvicorn.Config(
            application(serving, in_use),
            http=Connection,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=GRACE,
        )
    )


def with_token(serving: Serving) -> Serving:
    """With a token where one is needed; a random one, if none was chosen."""
    if serving.token or serving.is_private:
        return serving
    return replace(serving, token=secrets.token_urlsafe(16))


def listening(serving: Serving) -> socket.socket:
    """A socket at the address; a SettingsError where it cannot be had."""
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    try:
        return socket.create_server((serving.host, serving.port), family=family)
    except OSError as error:
        where = f"{serving.host} port {serving.port}"
        why = error.strerror or str(error)
        raise SettingsError(
            f"cannot listen at {where}: {why}; choose another with --port or --host"
        ) from None


def address(serving: Serving, listener: socket.socket) -> str:
    """What to open in a browser. The token stands where browsers do not send it."""
    host = socket.gethostname() if serving.host in ANYWHERE else serving.host
    shown = f"[{host}]" if ":" in host else host
    token = f"#token={serving.token}" if serving.token else ""
    return f"http://{shown}:{listener.getsockname()[1]}/{token}"


def _log(verbose: bool) -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="%(message)s")
    if verbose:
        logging.getLogger("remanence.serve").setLevel(logging.INFO)


def _interrupted(number: int, frame: FrameType | None) -> NoReturn:
    raise Interrupted("stopped as asked", number)
