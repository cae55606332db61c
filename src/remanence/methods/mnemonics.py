"""Mnemonics (CVPR 2020): LUCIR whose exemplars are images with learned pixels."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from remanence.core.errors import SettingsError
from remanence.core.settings import AtLeastOne, Positive, settings
from remanence.data.base import Data, Images
from remanence.effects.base import Effect
from remanence.images import LEARNED
from remanence.learned_exemplars import Descent, FittedRows, MeanRows, Rows, learned
from remanence.loader import Epoch, Pool
from remanence.memory import Memory, rank_in_class
from remanence.methods.shared.rebalancing import Rebalancing
from remanence.network import Network
from remanence.session import Session
from remanence.stream import Increment


@settings
class Mnemonics(Rebalancing):
    """Mnemonics training, as far as its released code goes: the network is frozen in it.

    objective: classifier (one that is fitted to the exemplars in a few steps is to name the new
        images; the first released code), means (their mean features are to; the current one), or
        none, which keeps the herded images as they are.
    exemplar_rate, exemplar_epochs: of the descent to the pixels, as views see them (published: for
        classifier 1e-6 in 10 epochs of Adam, for means 1e-5 in one of SGD; one epoch on digits).
    inner_passes, inner_rate: of the steps in which the classifier is fitted.
    refines_old: move the old classes' exemplars too, each half of them for the other half.
    finetune_epochs: published are 20.
    """

    objective: Literal["classifier", "means", "none"] = "classifier"
    exemplar_rate: Positive | None = None
    exemplar_epochs: AtLeastOne | None = None
    inner_passes: AtLeastOne = 5
    inner_rate: Positive = math.expm1(0.01)
    refines_old: bool = False

    def published(self, data: Data) -> dict[str, Any]:
        is_brief = self.objective != "classifier" or data.scale == "digits"
        return super().published(data) | {
            "finetune_epochs": 20,
            "exemplar_rate": 1e-6 if self.objective == "classifier" else 1e-5,
            "exemplar_epochs": 1 if is_brief else 10,
        }

    def check(
        self, increments: Sequence[Increment], effects: Sequence[Effect], memory: Memory
    ) -> None:
        least = 2 if self.refines_old else 1
        kept = memory.share(increments[-1].classes)
        if kept < least:
            wanted = "method.refines_old has halves of" if least == 2 else "mnemonics learns"
            raise SettingsError(
                f"memory.per_class: {wanted} the exemplars of a class, but {kept} will be kept; "
                f"keep at least {least}, or choose method=lucir"
            )

    def remember(self, session: Session) -> Images:
        kept = super().remember(session)
        if self.objective == "none":
            return kept
        is_old = kept.labels < session.old_classes
        for half in (0, 1) if self.refines_old and session.teacher else ():
            is_mine = is_old & (rank_in_class(kept.labels) % 2 == half)
            others = _pool(session, kept[is_old & ~is_mine])
            asked = partial(Epoch, others, others.everything)
            kept = self._moved(session, kept, is_mine, asked)
        new = session.pool.everything[: session.pool.new_count]
        return self._moved(session, kept, ~is_old, partial(Epoch, session.pool, new))

    def _moved(
        self, session: Session, kept: Images, is_mine: Tensor, asked: Callable[..., Epoch]
    ) -> Images:
        """The same exemplars; some of them have moved to do well on what is asked."""
        assert self.exemplar_epochs is not None, "filled from the data"
        network, mine = session.network.frozen(), _pool(session, kept[is_mine])
        epochs = [
            asked(session.training.batch, session.seed, (session.increment, "exemplars", number))
            for number in range(self.exemplar_epochs)
        ]
        rows = self._rows(network, mine, _pool(session, kept))
        pixels = kept.pixels.clone()
        pixels[is_mine] = learned(mine, network, rows, Descent(self._optimiser, epochs)).pixels
        return Images(pixels, kept.labels, kept.places.where(~is_mine, LEARNED))

    def _rows(self, network: Network, mine: Pool, kept: Pool) -> Rows:
        """How the features of some exemplars make a classifier."""
        start = network.head.weights.whole()
        if self.objective == "classifier":
            return FittedRows(start, mine.labels, self.inner_passes, self.inner_rate)
        features = kept.outputs(network, kept.everything).features
        return MeanRows(MeanRows(start, kept.labels)(features), mine.labels)

    def _optimiser(self, views: list[Tensor]) -> torch.optim.Optimizer:
        assert self.exemplar_rate is not None, "filled from the data"
        if self.objective == "classifier":
            return torch.optim.Adam(views, lr=self.exemplar_rate, betas=(0.5, 0.999))
        return torch.optim.SGD(views, lr=self.exemplar_rate, momentum=0.9, weight_decay=5e-4)


def _pool(session: Session, images: Images) -> Pool:
    """Images that are seen as those of the session are."""
    return dataclasses.replace(session.pool, images=images, new_count=0)
