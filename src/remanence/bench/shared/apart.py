"""Work done in a process of its own, so that its peak of memory is its own too."""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from remanence.core.allocator import keep_freed_memory


@dataclass(frozen=True)
class Peak:
    """Bytes: before the work began, and at its highest; those of a GPU where it is done there."""

    before: int
    highest: int

    @property
    def extra(self) -> int:
        """What the work took."""
        return self.highest - self.before


def peak_of(prepared: Callable[..., Any], *args: Any) -> Peak:
    """The memory of the work that `prepared(*args)` returns, not of what it took to prepare it."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as process:
        return process.submit(_measured, torch.get_num_threads(), prepared, args).result()


def _measured(threads: int, prepared: Callable[..., Any], args: tuple[Any, ...]) -> Peak:
    torch.set_num_threads(threads)
    work = prepared(*args)
    keep_freed_memory()  # only now: what preparing has freed is given back
    on_gpu = torch.cuda.is_available() and torch.cuda.is_initialized()
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        return Peak(before, torch.cuda.max_memory_allocated())
    _forget_peak()
    before = _resident()
    work()
    return Peak(before, _highest())


def _highest() -> int:
    """The most that was resident at any time; what getrusage says may be the parent's."""
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def _resident() -> int:
    """What is resident now, where the system says it; else the most so far."""
    return _status("VmRSS") or _highest()


def _status(key: str) -> int:
    """A number of bytes that Linux tells of this process; elsewhere 0."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    found = [line.split()[1] for line in lines if line.startswith(f"{key}:")]
    return int(found[0]) * 1024 if found else 0


def _forget_peak() -> None:
    """Let the most that was resident begin with what is now, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
