"""The run that is disturbed: how it is started, and what it must come to."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from remanence.cli.main import main

# The last is what torch imports when the first optimiser is made.
PRELOADED = ("remanence.engine.run", "remanence.recipe", "sklearn.datasets", "torch._inductor")
PATIENCE = 600.0  # seconds after which a process is said to hang
MODEST = (
    "training.epochs=2",
    'backbone={"name": "convnet", "width": 16}',
    "machine.device=cpu",
    "machine.threads=1",
    "machine.precision=float32",
)
DIGITS = ("digits-lucir-dde", "stream.sizes=3,2,2", "training.batch=64", *MODEST)
CIFAR = ("cifar100-t5-r5-lucir-dde", "stream.sizes=30,20,20", "training.batch=512", *MODEST)


@dataclass(frozen=True)
class Ended:
    """What a process came to: its exit code, and the lines that it said on standard error."""

    code: int
    said: Sequence[str]

    @property
    def refused(self) -> bool:
        """Whether it is one line of ours, and no traceback."""
        return self.code in (1, 2, 3, 4) and self._is_one_line

    @property
    def _is_one_line(self) -> bool:
        return len(self.said) == 1 and self.said[0].startswith("remanence: ")

    @property
    def last(self) -> str:
        """What it said in the end."""
        return self.said[-1] if self.said else f"nothing, and exit code {self.code}"


@dataclass(frozen=True)
class Conditions:
    """What is odd about the world that a process lives in."""

    largest_file: int | None = None
    clock: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


class Started:
    """A process of the command line, which is there at once: its parent has imported torch."""

    def __init__(self, words: Sequence[str], errors: Path, conditions: Conditions) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(PRELOADED))
        self._errors = errors
        self.process: BaseProcess = context.Process(target=live, args=(words, errors, conditions))
        self.process.start()

    def killed(self) -> bool:
        """End it by SIGKILL; False where it had come to its end before."""
        self.process.kill()
        self.process.join()
        return self.process.exitcode == -9

    def ended(self) -> Ended:
        """Wait for its end."""
        self.process.join(PATIENCE)
        if self.process.exitcode is None:
            self.killed()
            raise TimeoutError(f"no end after {PATIENCE} seconds")
        said = self._errors.read_text(errors="replace") if self._errors.exists() else ""
        return Ended(self.process.exitcode, said.splitlines())


def live(words: Sequence[str], errors: Path, conditions: Conditions) -> None:
    """The life of such a process."""
    os.environ.update(conditions.environment)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), sys.stderr.fileno())
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if conditions.largest_file is not None:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (conditions.largest_file, hard))
    if conditions.clock is not None:
        true, off = time.time, conditions.clock
        time.time = lambda: true() + off
    sys.exit(main(words))


@dataclass(frozen=True)
class Subject:
    """A short run, and the folder of one that was left alone."""

    words: Sequence[str]
    undisturbed: Path

    def start(self, folder: Path, *more: str, **odd: object) -> Started:
        """Run it in a folder, or go on there."""
        shared = str(folder.with_name(f"shared-{folder.name}"))
        words = ("run", *self.words, "--quiet", "--out", str(folder), "--runs", shared, *more)
        errors = self.undisturbed.with_name(f"said-{folder.name}-{len(odd)}-{time.monotonic_ns()}")
        return Started(words, errors, Conditions(**odd))  # type: ignore[arg-type]

    def done(self, folder: Path, *more: str, **odd: object) -> Ended:
        """The same, to its end."""
        return self.start(folder, *more, **odd).ended()

    def same(self, folder: Path, without: Sequence[str] = ()) -> bool:
        """Whether a folder holds what the undisturbed one does, bit by bit."""
        expected = contents(self.undisturbed)
        for name in without:
            expected.pop(name, None)
        return contents(folder) == expected


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a run folder but the log, which has times in it."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != "log.jsonl"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(files)}


def told(folder: Path) -> int:
    """How many increments a run says it has finished."""
    records = folder / "records.jsonl"
    return len(records.read_text().splitlines()) if records.exists() else 0


def learned(folder: Path) -> list[list[int]]:
    """The increments in which epochs were learned, process by process."""
    found: list[list[int]] = []
    log = folder / "log.jsonl"
    for line in log.read_text(errors="replace").splitlines() if log.exists() else ():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event["event"] == "started":
            found.append([])
        elif event["event"] == "epoch":
            found[-1].append(event["increment"])
    return found
