"""A learned model: names with calibrated probabilities for photographs.

>>> predictor = Predictor.load("birds.model")               # doctest: +SKIP
>>> predictor.predict(["robin.jpg"])[0].ranked(2)           # doctest: +SKIP
[('robin', 0.97), ('wren', 0.01)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.core.errors import FolderError
from remanence.model import tensors
from remanence.model.classifier import Classifier
from remanence.model.description import Description, KeptPhotograph, KnownClass
from remanence.model.folder import HEAD, TRUNK, ModelFolder
from remanence.model.trunk import trunk_like
from remanence.photographs.shown import Photograph as Photograph
from remanence.photographs.shown import squares_of

AT_ONCE = 32


@dataclass(frozen=True)
class Prediction:
    """What a model says of one photograph: a probability for each class."""

    classes: tuple[str, ...]
    probabilities: tuple[float, ...]

    @property
    def name(self) -> str:
        """The most probable class."""
        return self.ranked(1)[0][0]

    @property
    def probability(self) -> float:
        """Of that class."""
        return self.ranked(1)[0][1]

    def ranked(self, count: int | None = None) -> list[tuple[str, float]]:
        """The most probable classes, each with its probability; all unless so many are wanted."""
        named = zip(self.classes, self.probabilities, strict=True)
        return sorted(named, key=lambda pair: -pair[1])[:count]


class Predictor:
    """One version of a model, loaded; it does not change when another comes into use."""

    def __init__(self, folder: ModelFolder, description: Description, network: Classifier) -> None:
        self.folder = folder
        self.description = description
        self.network = network

    @classmethod
    def load(
        cls, folder: str | Path, version: int | None = None, *, own_code: bool = False
    ) -> Self:
        """The version in use, or another; own_code: the model may name a module to import."""
        model = ModelFolder(Path(folder))
        description = model.describe(version)
        return cls(model, description, network_of(model, description, own_code))

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, in the order of the outputs."""
        return self.description.names

    @property
    def known(self) -> tuple[KnownClass, ...]:
        """The classes: when each was learned, and how well it is remembered."""
        return self.description.classes

    def predict(self, photographs: Sequence[Photograph]) -> list[Prediction]:
        """One prediction for each photograph: a path, bytes of a file, an image, or its pixels."""
        return self.say(self.features(photographs))

    def say(self, features: Tensor) -> list[Prediction]:
        """One prediction for each row of features."""
        rows = self.probabilities(features).tolist()
        return [Prediction(self.classes, tuple(row)) for row in rows]

    def probabilities(self, features: Tensor) -> Tensor:
        """Calibrated, one row for each row of features."""
        with torch.inference_mode():
            return self.network.logits(features).softmax(1)

    def features(self, photographs: Sequence[Photograph]) -> Tensor:
        """What the trunk makes of photographs: one row each."""
        rows = list(self.each_features(photographs))
        return torch.cat(rows) if rows else torch.empty(0, self.network.trunk.width)

    def each_features(self, photographs: Sequence[Photograph]) -> Iterator[Tensor]:
        """The same, a few rows at a time."""
        for start in range(0, len(photographs), AT_ONCE):
            pixels = self.pixels(photographs[start : start + AT_ONCE])
            with torch.inference_mode():
                yield self.network.features(pixels.to(memory_format=torch.channels_last))

    def pixels(self, photographs: Sequence[Photograph]) -> Tensor:
        """Photographs as the network takes them: uint8, N x 3 x side x side."""
        seen = self.description.preprocessing
        return squares_of(photographs, seen.side, seen.centre)

    @property
    def kept(self) -> tuple[KeptPhotograph, ...]:
        """The old photographs that are kept."""
        return self.description.kept

    def nearest_kept(self, features: Tensor, count: int = 5) -> list[list[KeptPhotograph]]:
        """For each row of features, the kept photographs that are most alike, the nearest first."""
        if not self.kept:
            return [[] for _ in features]
        nearness = F.normalize(features) @ self._kept_features.T
        best = nearness.topk(min(count, len(self.kept)), dim=1).indices
        return [[self.kept[place] for place in row] for row in best.tolist()]

    @cached_property
    def _kept_features(self) -> Tensor:
        known = self._remembered()
        if known is None:
            known = self.features([self.folder.kept_file(one.hash) for one in self.kept])
        return F.normalize(known)

    def _remembered(self) -> Tensor | None:
        """What learning has noted down of them, where it has."""
        try:
            found = self.folder.memory(self.description.version).get("kept_features")
        except FolderError:
            return None
        expected = (len(self.kept), self.network.trunk.width)
        return found if isinstance(found, Tensor) and found.shape == expected else None


def load(folder: str | Path, version: int | None = None, *, own_code: bool = False) -> Predictor:
    """The version in use of a model, or another; own_code: it may name a module to import."""
    return Predictor.load(folder, version, own_code=own_code)


def network_of(model: ModelFolder, description: Description, own_code: bool) -> Classifier:
    """The network of a version, with its weights."""
    folder = model.folder(description.version)
    trunk = trunk_like(description.backbone, own_code, tensors.size(folder / TRUNK))
    network = Classifier(
        trunk, description.preprocessing, description.transform, len(description.classes)
    )
    network.temperature = description.temperature
    trunk.load_state_dict(tensors.load(folder / TRUNK, trunk.state_dict()))
    head = tensors.load(folder / HEAD, {"weight": network.weight, "bias": network.bias})
    network.load_state_dict(head, strict=False)
    return network.eval().requires_grad_(False)
