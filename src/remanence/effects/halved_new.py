"""Control for DCE: the classification loss of new images counts half, that of exemplars whole."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from remanence.core.settings import NotNegative, settings
from remanence.effects.base import Effect, Lens
from remanence.loader import Batch
from remanence.session import Session


@settings
class HalvedNew(Effect):
    """Multiply the classification loss of images of new classes by `weight`."""

    acts_in_training: ClassVar[bool] = True

    weight: NotNegative = 0.5

    def lens(self) -> Lens:
        return _HalvedNewLens(self.weight)


class _HalvedNewLens(Lens):
    def __init__(self, weight: float) -> None:
        self.weight = weight

    @property
    def captures(self) -> bool:
        return True

    def classification(self, losses: Tensor, batch: Batch, session: Session) -> Tensor:
        if session.teacher is None or not batch.epoch.is_main:
            return losses
        is_new = batch.labels >= session.old_classes
        return losses.where(~is_new, losses * self.weight)
