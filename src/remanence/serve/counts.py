"""What is counted, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

METHODS = ("GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH")


class Counts:
    """The counts of one server."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        by = ("path", "method", "status")
        self._requests = Counter("remanence_requests", "Requests answered.", by, registry=own)
        about = "From the head of a request to its end."
        self._seconds = Histogram("remanence_request_seconds", about, ("path",), registry=own)
        about = "Photographs that were named."
        self._predictions = Counter("remanence_predictions", about, registry=own)
        about = "Lessons, by how they ended."
        self._lessons = Counter("remanence_lessons", about, ("outcome",), registry=own)

    def request(self, path: str, method: str, status: int, seconds: float) -> None:
        """A request is over."""
        known = method if method in METHODS else "other"
        self._requests.labels(path, known, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def prediction(self) -> None:
        """A photograph was named."""
        self._predictions.inc()

    def lesson(self, outcome: str) -> None:
        """A lesson is over."""
        self._lessons.labels(outcome).inc()

    def show(self, name: str, about: str, value: Callable[[], float]) -> None:
        """A number that is looked at whenever it is asked for."""
        gauge = Gauge(f"remanence_{name}", about, registry=self._registry)
        gauge.set_function(value)

    def text(self) -> bytes:
        """All of it, in Prometheus' text format."""
        return generate_latest(self._registry)
