"""How well a model does on photographs whose classes are known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from remanence.core.errors import DataError
from remanence.core.machine import processors
from remanence.core.packings import expanded
from remanence.core.progress import Progress
from remanence.learning.cache import FeatureCache
from remanence.learning.featuring import features_of
from remanence.learning.measuring import calibration_error
from remanence.model.description import KnownClass
from remanence.photographs.scan import albums, class_folders, readable, subfolders
from remanence.predictor import Predictor


@dataclass(frozen=True)
class Examination:
    """What a model said of photographs, and what is true.

    classes: those of the model. unknown: folders that it has no class for, which were left out.
    unreadable: files that are no images, and why.
    """

    classes: tuple[KnownClass, ...]
    probabilities: Tensor
    labels: Tensor
    unknown: tuple[str, ...]
    unreadable: tuple[str, ...]

    @cached_property
    def said(self) -> Tensor:
        """The most probable class of each photograph."""
        return self.probabilities.argmax(1)

    def accuracy(self, members: Tensor | None = None) -> float | None:
        """The percentage that is recognised, of all photographs or of some."""
        right = self.said == self.labels
        some = right if members is None else right[members]
        return 100 * float(some.double().mean()) if len(some) else None

    def of_class(self, label: int) -> Tensor:
        """Which photographs show a class."""
        return self.labels == label

    def of_version(self, version: int) -> Tensor:
        """Which photographs show a class that was first learned in this version."""
        since = torch.tensor([one.version for one in self.classes])
        return since[self.labels] == version

    @property
    def versions(self) -> list[int]:
        """The versions in which the classes that are shown were first learned."""
        return sorted({self.classes[label].version for label in self.labels.tolist()})

    def taken_for(self, label: int) -> list[tuple[str, int]]:
        """What a class is taken for when it is not recognised, and how often."""
        said = self.said[self.of_class(label)].tolist()
        wrong = Counter(self.classes[other].name for other in said if other != label)
        return wrong.most_common()

    @property
    def confidence(self) -> float:
        """The mean probability of the class that is said, in percent."""
        return 100 * float(self.probabilities.max(1).values.mean())

    @property
    def calibration_error(self) -> float:
        """Points by which probabilities differ from how often they are right."""
        return calibration_error(self.probabilities, self.labels)


def examine(predictor: Predictor, folder: Path, progress: Progress) -> Examination:
    """Ask a model about a folder with a sub-folder for each class."""
    root, workers = expanded(str(folder)), processors()
    if not root.is_dir():
        raise DataError(f"there is no folder {root}: name one that has a folder for each class")
    there = subfolders(root)
    known = [name for name in predictor.classes if name in there]
    if not known:
        raise DataError(
            f"no folder in {root} is called as a class of the model ({predictor.classes[0]}, ...)"
        )
    classes, wrong = readable(root, class_folders(root, "", known), workers)
    side = predictor.description.preprocessing.side
    photographs, _ = albums(root, classes, dict.fromkeys(classes, ()), side, workers)
    if not len(photographs):
        raise DataError(f"there is no photograph in {root} that can be read: add some")
    progress.doing("looking at the photographs")
    cache = FeatureCache(predictor.network.trunk, predictor.description.preprocessing)
    features = features_of(photographs, predictor.network, cache, progress)
    seen = [name not in photographs.unreadable for name in photographs.names()]
    wrong = [*wrong, *(f"{name}: {why}" for name, why in photographs.unreadable.items())]
    place = torch.tensor([predictor.classes.index(name) for name in known])
    return Examination(
        classes=predictor.known,
        probabilities=predictor.probabilities(features[seen]),
        labels=place[photographs.labels[seen]],
        unknown=tuple(name for name in there if name not in known),
        unreadable=tuple(wrong),
    )
