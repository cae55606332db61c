"""On what was measured: machine, versions, commit."""

from __future__ import annotations

import datetime
import platform
from importlib.metadata import version
from typing import Any

import torch

from remanence.bench.base import Bench
from remanence.core.machine import processors
from remanence.core.origin import commit, processor


def about(bench: Bench) -> dict[str, Any]:
    """All that a ratio may hang on."""
    return {
        "remanence": version("remanence"),
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
        "processor": processor(bench.device),
        "device": bench.device.type,
        "capability": torch.backends.cpu.get_cpu_capability(),
        "processors": processors(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "data": "CIFAR-100" if bench.is_real else "made images of CIFAR-100's sizes",
        "quick": bench.quick,
    }
