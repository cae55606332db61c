"""What a run computes on: device, precision and threads."""

from __future__ import annotations

import os
import sys
from typing import Literal

import torch

from remanence.core.allocator import keep_freed_memory
from remanence.core.errors import SettingsError
from remanence.core.settings import AtLeastOne, Settings, settings

Precision = Literal["auto", "float32", "bfloat16"]
Kernels = Literal["auto", "fused", "plain"]


def processors() -> int:
    """How many of them this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@settings
class Machine(Settings):
    """What to compute on; part of the experiment, because each choice gives other last bits.

    device: auto takes a GPU where there is one.
    precision: of the trunk's arithmetic; head, losses and weights are float32 always. auto is
        what trains this network faster on this machine, measured once and remembered.
    kernels: batch norm, shortcut and ReLU fused into one, compiled when first wanted, or plain
        torch; auto is again what is faster here.
    threads: of one process on the CPU; open, it is torch's own choice.
    ranks: processes that share each batch; open, as many as torchrun has started, or one.
    """

    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Precision = "auto"
    kernels: Kernels = "auto"
    threads: AtLeastOne | None = None
    ranks: AtLeastOne | None = None

    def prepare(self) -> torch.device:
        """Set torch up so that the same seed on the same machine gives the same bits."""
        has_cuda = torch.cuda.is_available()
        if self.device == "cuda" and not has_cuda:
            raise SettingsError("machine.device: no CUDA device is here; choose cpu or auto")
        if has_cuda and self.device != "cpu":
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # for equal bits
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        keep_freed_memory()
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
        torch.backends.cudnn.benchmark = False
        return torch.device("cuda" if has_cuda and self.device != "cpu" else "cpu")
