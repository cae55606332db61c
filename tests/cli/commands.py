"""Ways to call the command line: here, as a command of the system, or in a child that may die."""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from remanence.cli.main import main

BRIEF = (
    "stream.sizes=3,2,2",
    "training.epochs=2",
    "training.batch=64",
    'backbone={"name": "convnet", "width": 16}',
    "machine.threads=1",
    "machine.precision=float32",
)
# The last is what torch imports when the first optimiser is made.
PRELOADED = ("remanence.engine.run", "remanence.recipe", "sklearn.datasets", "torch._inductor")


@dataclass(frozen=True)
class Outcome:
    """What a command came to."""

    code: int
    out: str
    err: str


Here = Callable[..., Outcome]  # see the fixture of this name


def finished(*words: str) -> Outcome:
    """A command of the system, run to its end."""
    done = subprocess.run(_command(words), capture_output=True, text=True, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


def started(*words: str) -> subprocess.Popen[str]:
    """A command of the system that goes on while the test does; its progress can be read."""
    return subprocess.Popen(
        _command(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _command(words: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "remanence.cli.main", *words]


def child(
    words: list[str],
    errors: Path,
    largest_file: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> BaseProcess:
    """The same in a process that is there at once: its parent has imported torch already.

    An earlier test may have started that parent; the environment is that of this test all the same.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    there = {**os.environ, **(environment or {})}
    process = context.Process(target=_live, args=(words, errors, largest_file, there))
    process.start()
    return process


def _live(
    words: list[str], errors: Path, largest_file: int | None, environment: Mapping[str, str]
) -> None:
    os.environ.update(environment)
    handle = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(handle, sys.stdout.fileno())
    os.dup2(handle, sys.stderr.fileno())
    if largest_file is not None:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, hard))
    sys.exit(main(words))


def wait_for_start(folder: Path, times: int = 1, seconds: float = 60.0) -> None:
    """Until a run has started in a folder for so many times."""
    end = time.monotonic() + seconds
    while events(folder, "started") < times:
        assert time.monotonic() < end, f"no run started in {folder}"
        time.sleep(0.005)


def events(folder: Path, kind: str) -> int:
    """How often a run says in its log that something happened."""
    log = folder / "log.jsonl"
    return log.read_text().count(f'"event": "{kind}"') if log.exists() else 0


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a run folder but the log, which has times in it."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != "log.jsonl"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(files)}


def check_one_line(outcome: Outcome, code: int) -> str:
    """A command that could not be done says so in one line, and nothing else; the line."""
    assert "Traceback" not in outcome.err
    lines = outcome.err.splitlines()
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("remanence")
    assert outcome.code == code
    assert outcome.out == ""
    return lines[0]
