"""What LUCIR and the methods built on it share: less-forget distillation and margin ranking."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, Literal, Self

from torch import Tensor

from remanence.core.settings import AtLeastOne, NotNegative, filled, settings
from remanence.data.base import Data
from remanence.effects.base import Effect
from remanence.effects.nearest_mean import NearestMean
from remanence.loader import Batch
from remanence.losses import cosine_distance, margin_ranking
from remanence.methods.shared.imprinting import Imprinting
from remanence.network import Output
from remanence.session import Session


@settings
class Rebalancing(Imprinting):
    """LUCIR's terms against forgetting.

    less_forget: weight of the distillation (published: 5 on CIFAR, 10 on ImageNet; else 5), times
        sqrt(old classes / new classes) if adaptive.
    ranking, margin, rivals: weight and margin of the ranking loss, and how many new classes an
        old image is compared with.
    mirror: see the effect nearest_mean.
    """

    captures: ClassVar[bool] = True

    less_forget: NotNegative | None = None
    adaptive: bool = True
    ranking: NotNegative = 1.0
    margin: NotNegative = 0.5
    rivals: AtLeastOne = 2
    mirror: Literal["auto", "never", "channels"] = "auto"

    def published(self, data: Data) -> dict[str, Any]:
        """The values of the settings that depend on the data."""
        return {"less_forget": 10.0 if data.scale.startswith("imagenet") else 5.0}

    def resolved(self, data: Data) -> Self:
        return filled(self, dataclasses.replace(self, **self.published(data)))

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

    def rules(self) -> dict[str, tuple[Effect, ...]]:
        return {"cnn": (), "nme": (NearestMean(mirror=self.mirror),)}
