"""Where a lesson starts: what the version in use has left for it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from remanence.core.errors import FolderError
from remanence.learning.pupil import Pupil
from remanence.learning.wishes import KEPT, Wishes
from remanence.model.description import Description
from remanence.model.folder import ModelFolder


@dataclass(frozen=True)
class Past:
    """What is known before a lesson.

    version: the one in use; none of a model that is new.
    told: the hashes of the photographs that were learned from, and as what.
    kept_features: of the photographs that are kept, in their order.
    begun: when the lesson began, in seconds of a clock that never goes back.
    """

    version: Description | None
    pupil: Pupil
    told: Mapping[str, str]
    kept_features: Tensor
    begun: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, folder: ModelFolder, wishes: Wishes) -> Past:
        """What a model folder holds, which may be nothing yet."""
        if not folder.exists:
            pupil = Pupil.new(wishes)
            return cls(None, pupil, {}, torch.empty(0, pupil.trunk.width))
        version = folder.describe()
        pupil = Pupil.load(folder, version, wishes)
        memory = folder.memory(version.version)
        told, features = memory.get("told"), memory.get("kept_features")
        if not isinstance(told, dict) or not isinstance(features, Tensor):
            raise FolderError(f"what {folder.path} remembers is damaged: roll it back")
        return cls(version, pupil, told, features)

    def budget_words(self, wishes: Wishes) -> str:
        """How much is to be kept: what is wished, else as before."""
        before = self.version.settings.get("keep", KEPT) if self.version else KEPT
        return wishes.keep if wishes.keep is not None else str(before)


def memory_of(pupil: Pupil, told: Mapping[str, str], kept_features: Tensor) -> dict[str, Any]:
    """What a version leaves for the next lesson."""
    return pupil.knowledge.state() | {"told": dict(told), "kept_features": kept_features}
