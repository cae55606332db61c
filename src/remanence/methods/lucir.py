"""LUCIR (CVPR 2019): a cosine head, less-forget distillation of features, and margin ranking."""

from __future__ import annotations

from typing import Any

from remanence.core.settings import settings
from remanence.data.base import Data
from remanence.methods.shared.rebalancing import Rebalancing


@settings
class Lucir(Rebalancing):
    """Learning a Unified Classifier Incrementally via Rebalancing.

    finetune_epochs: published are 20 on the whole of ImageNet, else none.
    """

    def published(self, data: Data) -> dict[str, Any]:
        epochs = 20 if data.scale == "imagenet_full" else 0
        return super().published(data) | {"finetune_epochs": epochs}
