"""What methods with LUCIR's classifier share: a cosine head, how it grows, and a balanced stage.

The folder `shared` holds what several methods are made of; nothing in it can be chosen by itself.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.core.settings import AtLeastZero, Positive, settings
from remanence.heads import CosineHead, Head
from remanence.loader import Pool
from remanence.methods.base import Method, Stage, all_but_old_rows, all_parameters
from remanence.network import Network
from remanence.session import Session


@settings
class Imprinting(Method):
    """A cosine head whose new rows are imprinted and whose old rows are held.

    imprints: start new rows from the mean features of their class.
    holds_old_rows: leave the old classes' rows as they are.
    finetune_epochs, finetune_rate: a last stage on the exemplars of all classes, rows only.
    """

    imprints: bool = True
    holds_old_rows: bool = True
    finetune_epochs: AtLeastZero | None = None
    finetune_rate: Positive = 0.01

    def head(self, width: int) -> Head:
        return CosineHead(width)

    def base_signature(self) -> dict[str, Any]:
        return {"head": "cosine", "loss": "cross-entropy"}

    def rows(self, network: Network, pool: Pool, classes: range) -> Tensor:
        if classes.start == 0 or not self.imprints:
            return network.head.fresh_rows(len(classes))
        return imprinted(network, pool, classes)

    def stages(self, session: Session) -> tuple[Stage, ...]:
        main = self.main_stage(session, all_but_old_rows if self.holds_old_rows else all_parameters)
        if not self.finetune_epochs or session.teacher is None or session.keep == 0:
            return (main,)
        schedule = dataclasses.replace(
            session.training, rate=self.finetune_rate, schedule="steps", drops=(0.5,)
        )
        balanced = Stage(
            "balanced",
            schedule,
            self.finetune_epochs,
            trained=lambda network: network.head.rows(),
            on_exemplars=True,
            is_main=False,
            freezes_statistics=True,
        )
        return (main, balanced)


def imprinted(network: Network, pool: Pool, classes: range) -> Tensor:
    """Rows of new classes: the direction of their mean unit feature, as long as old rows are."""
    labels = pool.labels
    means = []
    for label in classes:
        members = torch.nonzero(labels == label).flatten()
        unit = F.normalize(pool.outputs(network, members).features)
        means.append(unit.mean(0))
    return network.head.row_norm() * F.normalize(torch.stack(means))
