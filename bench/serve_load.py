"""Asks a running server to name a photograph, again and again, several at a time, and counts.

    remanence serve birds.model &
    python bench/serve_load.py robin.jpg --requests 400 --at-once 8

It prints requests a second, the median, 95th percentile and longest time of one, and errors; it
fails where there is any. The server does the same work for each: nothing is cached.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit


class Asker:
    """Asks one question over and over, with a connection for each thread."""

    def __init__(self, url: str, photograph: bytes, token: str | None) -> None:
        self._address = urlsplit(url)
        self._photograph = photograph
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._own = threading.local()

    def __call__(self, number: int) -> tuple[float, str | None]:
        """Seconds that an answer took, and what is wrong with it."""
        begun = time.perf_counter()
        try:
            wrong = self._asked()
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._own.connection = None
            wrong = f"{type(error).__name__}: {error}"
        return time.perf_counter() - begun, wrong

    def _asked(self) -> str | None:
        connection = getattr(self._own, "connection", None)
        if connection is None:
            host, port = self._address.hostname or "127.0.0.1", self._address.port
            connection = self._own.connection = http.client.HTTPConnection(host, port, timeout=60)
        connection.request("POST", "/api/predict", self._photograph, self._headers)
        answer = connection.getresponse()
        told = json.loads(answer.read())
        return None if answer.status == 200 and told["predictions"] else str(told)


def lines(seconds: list[float], errors: list[str], whole: float) -> Iterator[str]:
    """What is printed."""
    ranked = sorted(seconds)
    late = ranked[min(len(ranked) - 1, int(0.95 * len(ranked)))]
    yield f"{len(seconds)} requests in {whole:.1f} s: {len(seconds) / whole:.1f} a second"
    yield f"median {1000 * median(ranked):.0f} ms, 95 % within {1000 * late:.0f} ms"
    yield f"longest {1000 * ranked[-1]:.0f} ms; errors: {len(errors) or 'none'}"
    yield from sorted(set(errors))[:5]


def main() -> int:
    """Ask, and say how it went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("photograph", type=Path)
    parser.add_argument("--url", default="http://127.0.0.1:8000/")
    parser.add_argument("--token")
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--at-once", type=int, default=8)
    args = parser.parse_args()
    ask = Asker(args.url, args.photograph.read_bytes(), args.token)
    begun = time.perf_counter()
    with ThreadPoolExecutor(args.at_once) as threads:
        found = list(threads.map(ask, range(args.requests)))
    whole = time.perf_counter() - begun
    errors = [wrong for _, wrong in found if wrong]
    print(*lines([seconds for seconds, _ in found], errors, whole), sep="\n")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
