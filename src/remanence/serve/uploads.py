"""What comes in: never more than is allowed, never more slowly, never too much at once."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import NoReturn

from starlette.requests import ClientDisconnect, Request

from remanence.serve.refused import Refused

SLOWEST = 20_000  # bytes a second, on average, after the seconds of grace
OVERHANG = 100_000_000  # bytes that are read and thrown away of who does not listen meanwhile


class Slots:
    """So many uploads at once, and no more."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.taken = 0

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Room for one; who finds none is told to come again."""
        if self.taken >= self.count:
            raise Refused(503, f"{self.taken} uploads are on their way already: try again soon")
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1


async def parts(request: Request, limit: int, patience: float) -> AsyncGenerator[bytes, None]:
    """The body as it comes."""
    if _declared(request) > limit:
        await _too_large(request, limit, patience)
    received, begun = 0, time.monotonic()
    stream = aiter(request.stream())
    with contextlib.suppress(StopAsyncIteration):
        while True:
            left = begun + patience + received / SLOWEST - time.monotonic()
            part = await _next(stream, left)
            received += len(part)
            if received > limit:
                await _too_large(request, limit, patience)
            yield part


async def whole(request: Request, limit: int, patience: float) -> bytes:
    """The body."""
    body = bytearray()
    async for part in parts(request, limit, patience):
        body += part
    return bytes(body)


async def _next(stream: AsyncIterator[bytes], seconds: float) -> bytes:
    try:
        async with asyncio.timeout(seconds):
            return await anext(stream)
    except TimeoutError:
        raise Refused(408, "the upload is too slow: send it again on a better line") from None
    except ClientDisconnect:
        raise Refused(400, "the upload was cut") from None


def _declared(request: Request) -> int:
    length = request.headers.get("content-length", "")
    return int(length) if length.isdecimal() and length.isascii() and len(length) < 20 else 0


async def _too_large(request: Request, limit: int, patience: float) -> NoReturn:
    """Say so, after reading some of what still comes: who is cut off may not see the answer."""
    line = f"more than the {limit:,} bytes that are allowed: send a smaller one"
    expects = request.headers.get("expect", "").lower() == "100-continue"
    if not expects and _declared(request) <= OVERHANG:
        with contextlib.suppress(TimeoutError, ClientDisconnect, RuntimeError):
            async with asyncio.timeout(patience):
                thrown = 0
                async for part in request.stream():
                    thrown += len(part)
                    if thrown > OVERHANG:
                        break
    raise Refused(413, line)
