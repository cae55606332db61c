"""LUCIR (CVPR 2019): a cosine head, less-forget distillation of features, and margin ranking."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remanence.core.settings import (
    AtLeastOne,
    AtLeastZero,
    NotNegative,
    Positive,
    filled,
    settings,
)
from remanence.data.base import Data
from remanence.effects.base import Effect
from remanence.effects.nearest_mean import NearestMean
from remanence.heads import CosineHead, Head
from remanence.loader import Batch, Pool
from remanence.losses import cosine_distance, margin_ranking
from remanence.methods.base import Method, Stage
from remanence.network import Network, Output
from remanence.session import Session


@settings
class Lucir(Method):
    """Learning a Unified Classifier Incrementally via Rebalancing.

    less_forget: weight of the distillation (published: 5 on CIFAR, 10 on ImageNet; else 5), times
        sqrt(old classes / new classes) if adaptive.
    ranking, margin, rivals: weight and margin of the ranking loss, and how many new classes an
        old image is compared with.
    imprints: start new rows from the mean features of their class.
    holds_old_rows: leave the old classes' rows as they are.
    finetune_epochs, finetune_rate: a last stage on the exemplars of all classes, rows only
        (published: 20 epochs on the whole of ImageNet, else none).
    mirror: see the effect nearest_mean.
    """

    captures: ClassVar[bool] = True

    less_forget: NotNegative | None = None
    adaptive: bool = True
    ranking: NotNegative = 1.0
    margin: NotNegative = 0.5
    rivals: AtLeastOne = 2
    imprints: bool = True
    holds_old_rows: bool = True
    finetune_epochs: AtLeastZero | None = None
    finetune_rate: Positive = 0.01
    mirror: Literal["auto", "never", "channels"] = "auto"

    def head(self, width: int) -> Head:
        return CosineHead(width)

    def resolved(self, data: Data) -> Self:
        published = dataclasses.replace(
            self,
            less_forget=10.0 if data.scale.startswith("imagenet") else 5.0,
            finetune_epochs=20 if data.scale == "imagenet_full" else 0,
        )
        return filled(self, published)

    def base_signature(self) -> dict[str, Any]:
        return {"head": "cosine", "loss": "cross-entropy"}

    def rows(self, network: Network, pool: Pool, classes: range) -> Tensor:
        if classes.start == 0 or not self.imprints:
            return network.head.fresh_rows(len(classes))
        return imprinted(network, pool, classes)

    def preserve(
        self, out: Output, old: Output, batch: Batch, session: Session
    ) -> dict[str, Tensor]:
        assert self.less_forget is not None, "filled from the data"
        growth = math.sqrt(session.old_classes / session.new_classes) if self.adaptive else 1.0
        distance = cosine_distance(out.features, old.features)
        ranking = margin_ranking(
            out.scores, batch.labels, session.old_classes, self.margin, self.rivals
        )
        return {
            "less_forget": self.less_forget * growth * distance,
            "ranking": self.ranking * ranking,
        }

    def stages(self, session: Session) -> tuple[Stage, ...]:
        main = self.main_stage(session, _all_but_old_rows if self.holds_old_rows else _everything)
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

    def rules(self) -> dict[str, tuple[Effect, ...]]:
        return {"cnn": (), "nme": (NearestMean(mirror=self.mirror),)}


def imprinted(network: Network, pool: Pool, classes: range) -> Tensor:
    """Rows of new classes: the direction of their mean unit feature, as long as old rows are."""
    labels = pool.labels
    means = []
    for label in classes:
        members = torch.nonzero(labels == label).flatten()
        unit = F.normalize(pool.outputs(network, members).features)
        means.append(unit.mean(0))
    return network.head.row_norm() * F.normalize(torch.stack(means))


def _everything(network: Network) -> Iterable[nn.Parameter]:
    return network.parameters()


def _all_but_old_rows(network: Network) -> Iterable[nn.Parameter]:
    held = {id(row) for row in network.head.old_rows()}
    return [parameter for parameter in network.parameters() if id(parameter) not in held]
