"""What a figure must say so that it can be had again."""

from __future__ import annotations

import os
import platform
import time


def surroundings(command: str, seconds: float) -> dict[str, object]:
    """The command, the code, the machine and the time that it took."""
    import torch

    from remanence.core.origin import commit, processor

    return {
        "command": command,
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": f"{processor(torch.device('cpu'))}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "seconds": round(seconds),
    }
