"""A step without all that is around it: a network forwards and backwards, a teacher forwards."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch

from remanence.session import Session


class Bare:
    """Copies of a session's networks, on random images that are there already."""

    def __init__(self, session: Session, batches: Sequence[int]) -> None:
        assert session.teacher is not None
        self._network = copy.deepcopy(session.network).train()
        self._teacher = session.teacher
        sizes, shape = set(batches), session.pool.images.shape
        chance = torch.Generator().manual_seed(0)
        images = {size: torch.randn(size, *shape, generator=chance) for size in sizes}
        there = {size: one.to(session.pool.device) for size, one in images.items()}
        packed = {size: one.to(memory_format=torch.channels_last) for size, one in there.items()}
        self._images = [packed[size] for size in batches]

    def turn(self) -> None:
        """All batches once."""
        for images in self._images:
            self._network.zero_grad(set_to_none=True)
            self._network(images).logits.sum().backward()
            with torch.no_grad():
                self._teacher(images)
