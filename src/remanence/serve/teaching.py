"""One lesson at a time: where it stands, and the process that learns it."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from remanence.learning.wishes import Wishes
from remanence.serve.apart import teach
from remanence.serve.lesson import Lesson
from remanence.serve.refused import Refused

State = Literal["idle", "receiving", "running", "learned", "refused", "failed", "stopped"]
BUSY = ("receiving", "running")
PATIENCE = 5.0  # seconds in which a process may end by itself


class Standing(BaseModel, frozen=True):
    """Where teaching stands.

    photographs: of the lesson. doing: what is done now, `done` of `planned` steps of it.
    notes: lines to read. line: what it came to. version: that was learned.
    """

    state: State = "idle"
    name: str = ""
    photographs: int = 0
    doing: str = ""
    done: int = 0
    planned: int = 0
    notes: tuple[str, ...] = ()
    line: str = ""
    version: int | None = None

    @property
    def is_busy(self) -> bool:
        """Whether another lesson would have to wait."""
        return self.state in BUSY


class Teacher:
    """Teaches a model, in a process beside this one.

    learned: called when a version may be in use that was not before; a lesson is over after it.
    ended: told how each lesson ended.
    """

    def __init__(
        self,
        model: Path,
        wishes: Wishes,
        learned: Callable[[], None],
        ended: Callable[[State], None],
    ) -> None:
        self.now = Standing()
        self._model = model
        self._wishes = wishes
        self._learned = learned
        self._ended = ended
        self._process: BaseProcess | None = None
        self._watch: threading.Thread | None = None
        self._stopping = threading.Event()

    @contextlib.contextmanager
    def receiving(self) -> Iterator[None]:
        """While a lesson comes in; if none comes of it, all is as it was."""
        if self.now.is_busy:
            raise Refused(
                409, f"a lesson is {self.now.state} already: wait for its end, or stop it"
            )
        before, self.now = self.now, Standing(state="receiving", doing="receiving photographs")
        try:
            yield
        finally:
            if self.now.state == "receiving":
                self.now = before

    def begin(self, lesson: Lesson) -> None:
        """Start a lesson; it goes on by itself."""
        self._stopping.clear()
        self.now = Standing(
            state="running",
            name=lesson.name,
            photographs=lesson.photographs,
            doing="starting",
            notes=lesson.notes,
        )
        self._watch = threading.Thread(target=self._run, args=(lesson,), name="lesson")
        self._watch.start()

    def stop(self) -> None:
        """End the lesson, if there is one; the model stays as it is."""
        self._stopping.set()
        process, watch = self._process, self._watch
        if process is not None:
            process.terminate()
        if watch is not None:
            watch.join(2 * PATIENCE)

    def _run(self, lesson: Lesson) -> None:
        """From its start to its end."""
        last: dict[str, Any] = {}
        try:
            last = self._followed(lesson)
        except OSError as error:
            last = {"state": "failed", "line": f"no process can be started: {error}"}
        finally:
            lesson.forget()
            self._change(doing="taking it into use")
            self._learned()
            self._process = None
            self._change(**last)
            self._ended(self.now.state)

    def _followed(self, lesson: Lesson) -> dict[str, Any]:
        """What the process says last; what it says before is shown at once."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["remanence.learning.course"])  # the next one starts at once
        news, theirs = context.Pipe(duplex=False)
        process = context.Process(
            target=teach, args=(theirs, self._model, lesson, self._wishes), daemon=True
        )
        process.start()
        theirs.close()
        self._process = process
        if self._stopping.is_set():
            process.terminate()
        with news:
            last = self._told(news)
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
        return last or self._cut(process.exitcode)

    def _told(self, news: Connection) -> dict[str, Any]:
        with contextlib.suppress(EOFError, OSError):
            while True:
                changed: dict[str, Any] = news.recv()
                if "state" in changed:
                    return changed
                self._change(**changed)
        return {}

    def _cut(self, code: int | None) -> dict[str, Any]:
        if self._stopping.is_set():
            return {"state": "stopped", "line": "stopped; nothing of the model has changed"}
        line = f"the lesson was cut (exit code {code}); nothing of the model has changed"
        return {"state": "failed", "line": f"{line}: teach it again"}

    def _change(self, **changed: Any) -> None:
        self.now = self.now.model_copy(update=changed)
