"""Schedules: settings of gradient descent."""

from __future__ import annotations

import math
from typing import Literal

from remanence.core.settings import (
    AtLeastOne,
    Fraction,
    NotNegative,
    Numbers,
    Positive,
    Settings,
    settings,
)


@settings
class Training(Settings):
    """A schedule of stochastic gradient descent; what is None is the method's own for the data.

    A schedule is filled before it is used: see `Experiment.resolved`.

    epochs, base_epochs: of an increment, and of the first one where they differ.
    batch, rate, momentum, weight_decay: of stochastic gradient descent.
    schedule: steps or cosine. drops: fractions of the epochs at which the rate falls by
        `drop_factor`, so that a shortened schedule keeps its shape.
    augmentation: how images are varied and normalised, by name.
    on_nan: when the loss or a gradient of a batch is not a number, stop with the batch named, or
        skip it: the step is taken back, noted in the log and counted in the record.
    """

    epochs: AtLeastOne | None = None
    base_epochs: AtLeastOne | None = None
    batch: AtLeastOne | None = None
    rate: Positive | None = None
    schedule: Literal["steps", "cosine"] | None = None
    drops: Numbers | None = None
    drop_factor: Fraction | None = None
    momentum: Fraction | None = None
    weight_decay: NotNegative | None = None
    augmentation: str | None = None
    on_nan: Literal["stop", "skip"] = "stop"

    @staticmethod
    def steps(
        epochs: int,
        drops: tuple[float, ...],
        *,
        weight_decay: float,
        rate: float = 0.1,
        batch: int = 128,
    ) -> Training:
        """The field's usual schedule: momentum 0.9, and a rate that drops by ten."""
        return Training(
            epochs=epochs,
            batch=batch,
            rate=rate,
            schedule="steps",
            drops=drops,
            drop_factor=0.1,
            momentum=0.9,
            weight_decay=weight_decay,
        )

    def epochs_of(self, increment: int) -> int:
        """How many epochs an increment is trained for."""
        epochs = self.epochs if increment or self.base_epochs is None else self.base_epochs
        assert epochs is not None
        return epochs

    def rate_at(self, epoch: int, epochs: int) -> float:
        """The learning rate in an epoch (from 0) of so many; a drop acts from its epoch on."""
        assert self.rate is not None and self.drops is not None and self.drop_factor is not None
        if self.schedule == "cosine":
            return self.rate * 0.5 * (1 + math.cos(math.pi * epoch / epochs))
        passed = sum(epoch >= drop * epochs - 1e-9 for drop in self.drops)  # 0.55 * 100 is 55
        return float(self.rate * self.drop_factor**passed)
