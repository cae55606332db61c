"""A session: the time in which one increment is learned, and the view of it that methods get."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from remanence.loader import Pool
from remanence.network import Network, Output, softmax
from remanence.schedule import Training


def every_place(session: Session) -> Tensor:
    """All places in a session's pool."""
    return session.pool.everything


@dataclass(frozen=True)
class Session:
    """What methods and effects may know while one increment is learned; they change none of it.

    network: the one that learns, with rows for all classes. teacher: as it was before, frozen.
    pool: the new images, then the exemplars. keep: how many images each class may leave behind.
    probabilities: what the method takes an output to say of every class.
    visits: how the method chooses what is `visited`.
    """

    increment: int
    old_classes: int
    classes: int
    network: Network
    teacher: Network | None
    pool: Pool
    keep: int
    training: Training
    seed: int
    probabilities: Callable[[Output], Tensor] = softmax
    visits: Callable[[Session], Tensor] = every_place

    @cached_property
    def visited(self) -> Tensor:
        """The places in the pool of the images that the network may be trained on."""
        return self.visits(self)

    @property
    def new_classes(self) -> int:
        """How many classes arrive."""
        return self.classes - self.old_classes
