"""Plain training on what is there: the floor that every method must clear."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from remanence.core.settings import settings
from remanence.data.base import Data
from remanence.effects.base import Effect
from remanence.effects.nearest_mean import NearestMean
from remanence.heads import CosineHead, Head, LinearHead
from remanence.methods.base import Method, with_last_relu


@settings
class Finetune(Method):
    """Cross-entropy on new images and exemplars, and nothing against forgetting.

    head_kind: of the classifier, linear or cosine.
    """

    captures: ClassVar[bool] = True

    head_kind: Literal["linear", "cosine"] = "linear"

    def head(self, width: int) -> Head:
        return CosineHead(width) if self.head_kind == "cosine" else LinearHead(width)

    def backbone(self, data: Data) -> Mapping[str, Any]:
        """That of the methods with such a head, so that they share a base."""
        return with_last_relu(data) if self.head_kind == "linear" else super().backbone(data)

    def base_signature(self) -> dict[str, Any]:
        return {"head": self.head_kind, "loss": "cross-entropy"}

    def rules(self) -> dict[str, tuple[Effect, ...]]:
        return {"cnn": (), "nme": (NearestMean(),)}
