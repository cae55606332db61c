"""What a step frees is kept for the next one.

By itself glibc gives the system back what a step of training has freed, and the next step waits for
hundreds of megabytes to be mapped and zeroed again: a tenth of its time.
"""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
LARGEST = 2**31 - 1
KEPT_UP_TO = 2**30  # a tensor beyond this is mapped by itself, and given back


def keep_freed_memory() -> None:
    """From now on, in this process; elsewhere than on glibc it changes nothing."""
    set_thresholds(KEPT_UP_TO, LARGEST)


def set_thresholds(mapped_from: int, trimmed_from: int) -> None:
    """Bytes from which an allocation is mapped by itself, and free memory is given back."""
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, mapped_from)
        mallopt(M_TRIM_THRESHOLD, trimmed_from)
