"""Every random number is a pure function of the seed and of what it is for.

Nothing that was drawn has to be remembered: a run that resumes draws the same numbers again.
"""

from __future__ import annotations

import hashlib

import torch


def derived(seed: int, *purpose: str | int) -> int:
    """A seed for one purpose, independent of the seeds for all other purposes."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def generator(seed: int, *purpose: str | int) -> torch.Generator:
    """A generator of random numbers for one purpose."""
    return torch.Generator().manual_seed(derived(seed, *purpose))
