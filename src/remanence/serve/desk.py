"""What answering takes, from the start of a server to its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import torch
from starlette.applications import Starlette

from remanence.core.machine import processors
from remanence.serve.answers import Answer, answer_of
from remanence.serve.counts import Counts
from remanence.serve.in_use import InUse
from remanence.serve.serving import Serving
from remanence.serve.teaching import Teacher
from remanence.serve.uploads import Slots

LOOK = 1.0  # seconds between two looks at which version is in use
SEEN_AT_ONCE = 4  # photographs; a large one that is decoded takes half a gigabyte


class Desk:
    """What answering takes: the model in use, who teaches it, room for uploads, counts."""

    def __init__(self, serving: Serving, in_use: InUse) -> None:
        self.serving = serving
        self.in_use = in_use
        self.counts = Counts()
        self.slots = Slots(serving.at_once)
        self.teacher = Teacher(
            in_use.folder.path, serving.wishes, in_use.refresh, self.counts.lesson
        )
        self.eyes = ThreadPoolExecutor(
            min(processors(), SEEN_AT_ONCE), "eye", initializer=torch.set_num_threads, initargs=(1,)
        )
        self._show_numbers()

    @contextlib.asynccontextmanager
    async def open(self, app: Starlette) -> AsyncIterator[None]:
        """From the start of the server to its end."""
        following = asyncio.create_task(self._follow())
        yield
        following.cancel()
        await asyncio.to_thread(self.teacher.stop)
        self.eyes.shutdown(wait=False, cancel_futures=True)

    async def look(self, photograph: bytes, top: int, nearest: int) -> Answer:
        """What a photograph shows, seen in another thread."""
        found = await asyncio.wrap_future(
            self.eyes.submit(answer_of, self.in_use.predictor, photograph, top, nearest)
        )
        self.counts.prediction()
        return found

    async def _follow(self) -> None:
        """Somebody else may teach the model, or roll it back."""
        while True:
            await asyncio.sleep(LOOK)
            await asyncio.to_thread(self.in_use.refresh)

    def _show_numbers(self) -> None:
        in_use, teacher = self.in_use, self.teacher
        show = self.counts.show
        show("model_version", "The version in use.", lambda: in_use.predictor.description.version)
        show("model_classes", "Classes that are known.", lambda: len(in_use.predictor.classes))
        show("model_kept", "Photographs that are kept.", lambda: len(in_use.predictor.kept))
        show("teaching", "1 while a lesson comes in or is learned.", lambda: teacher.now.is_busy)
        show("uploads", "Uploads that are on their way.", lambda: self.slots.taken)
