"""Control for DCE: the classification loss of every image counts half, without any neighbours."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from remanence.core.settings import NotNegative, settings
from remanence.effects.base import Effect, Lens
from remanence.loader import Batch
from remanence.session import Session


@settings
class Halved(Effect):
    """Multiply the classification loss by `weight` once there is a teacher."""

    acts_in_training: ClassVar[bool] = True

    weight: NotNegative = 0.5

    def lens(self) -> Lens:
        return _HalvedLens(self.weight)


class _HalvedLens(Lens):
    def __init__(self, weight: float) -> None:
        self.weight = weight

    @property
    def captures(self) -> bool:
        return True

    def classification(self, losses: Tensor, batch: Batch, session: Session) -> Tensor:
        if session.teacher is None or not batch.epoch.is_main:
            return losses
        return losses * self.weight
