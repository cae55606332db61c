"""Workers on this machine: one for each of its processors, or for each share of its GPUs.

Two torch processes with a thread on each core slow each other badly, so that each has one thread;
on two cores two such processes do about a tenth more than one with two threads.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import sleep

from remanence.core.errors import Interrupted, RemanenceError
from remanence.core.machine import processors
from remanence.grid.jobs import TRIES, Job, died
from remanence.grid.worker import Answer, answer

Numbered = tuple[int, Job]


@dataclass(frozen=True)
class Slot:
    """What one worker computes on. gpu: its name for CUDA, if it has one."""

    threads: int = 1
    gpu: str | None = None


@dataclass(frozen=True)
class Local:
    """A worker for each slot."""

    slots: tuple[Slot, ...]

    def answers(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Answer]]:
        """See `Workers`."""
        post = _Post()
        for numbered in enumerate(jobs):
            post.waiting.put(numbered)
        clerks = [
            threading.Thread(target=_serve, args=(slot, post), daemon=True)
            for slot in self.slots[: len(jobs)]
        ]
        for clerk in clerks:
            clerk.start()
        try:
            for _ in jobs:
                number, found = post.answered.get()
                if isinstance(found, BaseException) and not isinstance(found, RemanenceError):
                    raise found
                yield number, found
        finally:
            post.is_over.set()
            _dismiss(clerks)


def slots(
    threads: int | None = None, per_gpu: int = 1, at_once: int | None = None, on_cpu: bool = False
) -> tuple[Slot, ...]:
    """The slots of this machine.

    threads: of each; open, one, or a GPU's share of the processors. per_gpu: runs that share one.
    at_once: at most so many slots. on_cpu: whether GPUs are left alone.
    """
    gpus = [] if on_cpu else _gpus()
    if gpus:
        share = threads or max(1, processors() // (len(gpus) * per_gpu))
        found = [Slot(share, gpu) for gpu in gpus for _ in range(per_gpu)]
    else:
        found = [Slot(threads or 1)] * max(1, processors() // (threads or 1))
    return tuple(found[:at_once])


def _gpus() -> list[str]:
    import torch

    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = chosen.split(",") if chosen else map(str, range(torch.cuda.device_count()))
    return list(names) if torch.cuda.is_available() else []


@dataclass
class _Post:
    """Between the one who asks and those who answer."""

    waiting: SimpleQueue[Numbered] = field(default_factory=SimpleQueue)
    answered: SimpleQueue[tuple[int, Answer | BaseException]] = field(default_factory=SimpleQueue)
    is_over: threading.Event = field(default_factory=threading.Event)


def _serve(slot: Slot, post: _Post) -> None:
    """In a thread: keep one worker busy; a new one takes over where it dies."""
    worker = _hired(slot)
    while not post.is_over.is_set():
        try:
            number, job = post.waiting.get_nowait()
        except Empty:
            break
        found: Answer | BaseException = died()
        for _ in range(TRIES):
            try:
                tree = job.experiment.tree()
                found = worker.submit(answer, tree, job.place, slot.threads).result()
                break
            except (BrokenProcessPool, Interrupted):
                if post.is_over.is_set():
                    break
                worker.shutdown()
                worker = _hired(slot)
            except BaseException as error:  # a fault of the program: for the one who asks
                found = error
                break
        post.answered.put((number, found))
    worker.shutdown()


def _hired(slot: Slot) -> ProcessPoolExecutor:
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=spawn, initializer=_settle_in, initargs=(slot,))


def _settle_in(slot: Slot) -> None:
    """In a new worker: Ctrl-C is not for it but for its parent, who asks it once; and dies once."""
    if slot.gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = slot.gpu
    os.setsid()
    threading.Thread(target=_stop_with_parent, daemon=True).start()


def _stop_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)  # a run is saved and stops


def _dismiss(clerks: Sequence[threading.Thread]) -> None:
    """Ask each worker once to save and stop, and wait until they have."""
    asked: set[int | None] = set()
    while any(clerk.is_alive() for clerk in clerks):
        for child in multiprocessing.active_children():
            if child.pid not in asked:
                child.terminate()
                asked.add(child.pid)
        sleep(0.05)
