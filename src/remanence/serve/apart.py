"""Learning in a process of its own: predictions go on beside it, and a kill of it loses nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from remanence.core.errors import GateRefused, RemanenceError
from remanence.core.machine import processors
from remanence.core.progress import Progress
from remanence.learning import Wishes, learn
from remanence.model.description import Description
from remanence.model.folder import ModelFolder
from remanence.serve.lesson import Lesson

POLITENESS = 10  # how much sooner than this process others are served
OFTEN = 0.1  # seconds between two news of progress


def teach(news: Connection, model: Path, lesson: Lesson, wishes: Wishes) -> None:
    """Learn, and send what changes in the state of the lesson, whatever comes."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who stops the server is told by the server
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.nice(POLITENESS)
    torch.set_num_threads(max(1, processors() // 2))
    _send(news, **_outcome(_Told(news, lesson), model, lesson, wishes))


def _outcome(told: _Told, model: Path, lesson: Lesson, wishes: Wishes) -> dict[str, Any]:
    try:
        before = ModelFolder(model).current
        version = learn(model, lesson.root, wishes, told)
    except GateRefused as error:
        return {"state": "refused", "line": str(error)}
    except RemanenceError as error:
        return {"state": "failed", "line": lesson.plain(str(error))}
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        return {"state": "failed", "line": f"{why}; nothing of the model has changed"}
    if version.version == before:
        return {"state": "learned", "version": before, "line": "nothing new was in the lesson"}
    return {"state": "learned", "version": version.version, "line": _line(lesson.name, version)}


def _line(name: str, version: Description) -> str:
    """What the lesson came to."""
    result, (known,) = version.measured, [one for one in version.classes if one.name == name]
    forgotten = "nothing of the old classes is forgotten"
    if (result.forgotten or 0) > 0:
        forgotten = f"old classes lose {result.forgotten:.1f} points"
    now = known.remembered.get(version.version)
    recognised = "" if now is None else f"{now:.0f} % of its held-out photographs are recognised; "
    return f"{name} is learned: {recognised}{forgotten}"


class _Told(Progress):
    """Sends what happens, and not too often how far it is."""

    def __init__(self, news: Connection, lesson: Lesson) -> None:
        self._news = news
        self._lesson = lesson
        self._notes = lesson.notes
        self._planned = self._done = 0
        self._sent = 0.0

    def planned(self, steps: int) -> None:
        self._planned = steps
        _send(self._news, planned=steps)

    def doing(self, what: str) -> None:
        _send(self._news, doing=what, done=self._done)

    def stepped(self, steps: int = 1) -> None:
        self._done += steps
        if self._done >= self._planned or time.monotonic() - self._sent > OFTEN:
            self._sent = time.monotonic()
            _send(self._news, done=self._done)

    def said(self, line: str) -> None:
        self._notes = (*self._notes, self._lesson.plain(line))
        _send(self._news, notes=self._notes)


def _send(news: Connection, **changed: Any) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more: the lesson is worth ending
        news.send(changed)
