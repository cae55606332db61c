"""When to save inside a session, and how to stop when asked to."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

from remanence.core import ranks
from remanence.core.errors import Interrupted


class Keeper:
    """Saves now and then, and at once when a signal came; asked after every step."""

    def __init__(self, save: Callable[[Mapping[str, Any]], None], every_seconds: float) -> None:
        self._save = save
        self._every = every_seconds
        self._saved_at = time.monotonic()
        self._signal: int | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """SIGINT and SIGTERM are remembered until the next step instead of cutting this one."""
        wanted = (signal.SIGINT, signal.SIGTERM)
        try:
            before = {one: signal.signal(one, self._remember) for one in wanted}
        except ValueError:  # not the main thread: whoever runs us there handles signals
            yield
            return
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if self._signal is not None:  # asked twice: do not wait for the step to end
            raise Interrupted("stopped at once; the last checkpoint is kept", number)
        self._signal = number

    def step_done(self, state: Callable[[], Mapping[str, Any]]) -> None:
        """A step of gradient descent is done; `state` gives all that is needed to go on from it."""
        if self._asked() or time.monotonic() - self._saved_at >= self._every:
            self._save(state())
            self._saved_at = time.monotonic()
        self.stop_if_asked()

    def increment_done(self) -> None:
        """An increment is learned and written down."""
        self._asked()
        self.stop_if_asked()

    def _asked(self) -> bool:
        """Whether a signal came to any rank; then all stop after the same step."""
        if ranks.any_of(self._signal is not None) and self._signal is None:
            self._signal = signal.SIGTERM
        return self._signal is not None

    def stop_if_asked(self) -> None:
        """Raise Interrupted if a signal came; what is saved must be enough to go on."""
        if self._signal is not None:
            raise Interrupted("stopped as asked; everything so far is saved", self._signal)
