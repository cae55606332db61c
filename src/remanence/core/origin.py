"""Which code computes, and on what: what a result must say so that it can be had again."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import torch

_CHECKOUT = Path(__file__).parents[3]


def commit() -> str | None:
    """The commit of the checkout that this is run from, '-dirty' where it was changed since.

    git only looks: no lock of its own may be left in the checkout of somebody whose disk is full.
    """
    if not (_CHECKOUT / ".git").exists():
        return None
    name = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return f"{name}-dirty" if name and changed else name


def _git(*words: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(_CHECKOUT), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def processor(device: torch.device) -> str:
    """The name of what computes: of the GPU, or of the processor."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def processor_features() -> str:
    """What this processor can do, as far as the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    said = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(said)}))
