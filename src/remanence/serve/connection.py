"""A connection that is closed when the head of a request does not come."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 10.0  # seconds from the first byte of a request to the end of its headers


class Connection(H11Protocol):
    """As uvicorn's, which by itself waits for ever for headers that have begun."""

    patience = PATIENCE

    def __init__(self, *args: Any, **others: Any) -> None:
        super().__init__(*args, **others)
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if self._waiting is None and self._is_between_requests:
            self._wait()
        super().data_received(data)
        if not self._is_between_requests:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _is_between_requests(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.patience, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
