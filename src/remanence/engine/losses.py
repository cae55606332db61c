"""The losses of an epoch: their mean, and what is said when one is not a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import torch
from torch import Tensor, nn

from remanence.core.errors import RemanenceError


@dataclass(frozen=True)
class Losses:
    """One number for each batch of an epoch; 0 as long as it has not come.

    purpose: increment, stage and epoch. may_skip: whether a batch without a loss is left out.
    """

    values: Tensor
    purpose: tuple[str | int, ...]
    rate: float | None
    may_skip: bool

    def take(self, batch: int, loss: Tensor) -> None:
        """The loss of a batch has come; a GPU is not waited for."""
        self.values[batch] = loss

    def check(self) -> None:
        """Raise a RemanenceError where learning cannot go on; a GPU is waited for."""
        skipped = self.skipped()
        if skipped and not self.may_skip:
            self._refuse(
                f"the loss is {self.values[skipped[0]].item()}",
                f"batch {skipped[0]}",
                ", or leave such batches out with training.on_nan=skip",
            )
        if len(skipped) == len(self.values):
            self._refuse("the loss is not a number", "every batch")

    def check_weights(self, network: nn.Module) -> None:
        """The same where a gradient has spoiled them although the loss was a number."""
        weights = torch.stack([one.isfinite().all() for one in network.state_dict().values()])
        if not bool(weights.all()):
            self._refuse("the weights are not numbers any more", "where the losses still were")

    def _refuse(self, what: str, where: str, otherwise: str = "") -> NoReturn:
        increment, stage, epoch = self.purpose
        raise RemanenceError(
            f"{what} in increment {increment}, stage {stage}, epoch {epoch}, {where}: lower "
            f"training.rate (now {self.rate}){otherwise}; the last good checkpoint is kept"
        )

    def skipped(self) -> list[int]:
        """The batches that have no loss."""
        return [int(batch) for batch in (~torch.isfinite(self.values)).nonzero()]

    def mean(self) -> float:
        """Of the batches that have one."""
        there_are = len(self.values) - len(self.skipped())
        return round(float(self.values.nan_to_num(0, 0, 0).sum()) / max(1, there_are), 5)
