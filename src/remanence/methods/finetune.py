"""Plain training on what is there: the floor that every method must clear."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from remanence.core.settings import settings
from remanence.effects.base import Effect
from remanence.effects.nearest_mean import NearestMean
from remanence.heads import CosineHead, Head, LinearHead
from remanence.methods.base import Method


@settings
class Finetune(Method):
    """Cross-entropy on new images and exemplars, and nothing against forgetting.

    head_kind: of the classifier, linear or cosine.
    """

    captures: ClassVar[bool] = True

    head_kind: Literal["linear", "cosine"] = "linear"

    def head(self, width: int) -> Head:
        return CosineHead(width) if self.head_kind == "cosine" else LinearHead(width)

    def base_signature(self) -> dict[str, Any]:
        return {"head": self.head_kind, "loss": "cross-entropy"}

    def rules(self) -> dict[str, tuple[Effect, ...]]:
        return {"cnn": (), "nme": (NearestMean(),)}
