"""LwF (ECCV 2016) as the LUCIR repository has it: cross-entropy, and distillation of old logits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from remanence.core.settings import NotNegative, Positive, settings
from remanence.data.base import Data
from remanence.effects.base import Effect
from remanence.effects.nearest_mean import NearestMean
from remanence.heads import Head, LinearHead
from remanence.loader import Batch
from remanence.losses import distillation
from remanence.methods.base import Method, with_last_relu
from remanence.network import Output
from remanence.session import Session


@settings
class Lwf(Method):
    """Learning without Forgetting; it needs no exemplars, and trains on those that there are.

    distillation: weight of the distillation, times temperature^2 (1 in all).
    temperature: by which logits are divided before they are compared with the teacher's.
    """

    captures: ClassVar[bool] = True

    distillation: NotNegative = 0.25
    temperature: Positive = 2.0

    def head(self, width: int) -> Head:
        return LinearHead(width)

    def backbone(self, data: Data) -> Mapping[str, Any]:
        return with_last_relu(data)

    def base_signature(self) -> dict[str, Any]:
        return {"head": "linear", "loss": "cross-entropy"}

    def preserve(
        self, out: Output, old: Output, batch: Batch, session: Session
    ) -> dict[str, Tensor]:
        kept = distillation(out.logits, old.logits, self.temperature)
        return {"distillation": self.distillation * kept}

    def rules(self) -> dict[str, tuple[Effect, ...]]:
        return {"cnn": (), "nme": (NearestMean(),)}
