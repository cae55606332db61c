"""Lessons of images that a program holds, labelled with whatever it calls its classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from remanence.core.progress import Progress
from remanence.data.base import Splits
from remanence.images import Images
from remanence.learning.from_nothing import shifts, trained
from remanence.learning.knowledge import Labelled, Lesson
from remanence.learning.past import Past
from remanence.learning.pupil import Pupil
from remanence.learning.reading import held_out
from remanence.learning.samples import Scale, fingerprint
from remanence.learning.wishes import Wishes
from remanence.model.classifier import Classifier
from remanence.photographs.collection import of_pixels
from remanence.photographs.shown import Photograph, squares_of

AT_ONCE = 16

Names = Mapping[str, Hashable]  # what the classes are called, in order, and their labels


@dataclass(frozen=True)
class Sample:
    """Labelled images, and the scale of the numbers that they were given in."""

    images: Sequence[Photograph]
    labels: list[Hashable]
    scale: Scale


@dataclass(frozen=True)
class Tally:
    """How many images of each class were taught, and how many held out."""

    of: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    only_measured: bool = False

    def counts(self, name: str) -> tuple[int, int]:
        """Those of one class."""
        return self.of.get(name, (0, 0))

    def plus(self, names: Sequence[str], lesson: Lesson) -> Tally:
        """With those of a lesson."""
        found = dict(self.of)
        for label, name in enumerate(names):
            more = [int((part.labels == label).sum()) for part in (lesson.taught, lesson.held)]
            before = self.counts(name)
            found[name] = (before[0] + more[0], before[1] + more[1])
        return Tally(found)


@dataclass(frozen=True)
class Learned:
    """A pupil in a program, and what it takes to go on with it or to save it.

    since: what it has learned since it was last on disk. told: the images of that, by their hash.
    home: the folder of the model that it was loaded from or saved to; past: that version of it.
    """

    pupil: Pupil
    names: Names
    scale: Scale
    since: Tally = Tally()
    told: Mapping[str, str] = field(default_factory=dict)
    home: Path | None = None
    past: Past | None = None

    def probabilities(self, images: Sequence[Photograph]) -> NDArray[np.float64]:
        """A row for each image, a column for each class in the order in which they were met."""
        network = self.pupil.classifier()
        with torch.inference_mode():
            logits = network.logits(_features(network, self.pupil, images))
        found: NDArray[np.float64] = logits.double().softmax(1).numpy()
        return found


def first_lesson(sample: Sample, wishes: Wishes, progress: Progress) -> Learned:
    """What comes of a lesson for one who knows nothing yet."""
    pupil = Pupil.new(wishes)
    learned = Learned(pupil, {}, sample.scale)
    if not pupil.trunk.pretrained:
        _school(pupil, sample, wishes, progress)
    return next_lesson(learned, sample, wishes)


def next_lesson(learned: Learned, sample: Sample, wishes: Wishes) -> Learned:
    """What comes of one more lesson."""
    pupil = learned.pupil
    found = {_name(one): one for one in sorted(set(sample.labels))}  # type: ignore[type-var]
    names = tuple(found)
    hashes, labels, held = _split(sample, names, wishes)
    rows = Labelled(_features(pupil.network().eval(), pupil, sample.images), labels)
    lesson = Lesson(names, rows.only(~held), rows.only(held))
    return dataclasses.replace(
        learned,
        pupil=pupil.after(lesson),
        names={**learned.names, **{n: v for n, v in found.items() if n not in learned.names}},
        since=learned.since.plus(names, lesson),
        told={**learned.told, **dict(zip(hashes, map(_name, sample.labels), strict=True))},
    )


def _split(
    sample: Sample, names: Sequence[str], wishes: Wishes
) -> tuple[list[str], Tensor, Tensor]:
    """Hashes and labels of the images, and which are held out: by the order of the hashes."""
    hashes = [fingerprint(one) for one in sample.images]
    labels = torch.tensor([names.index(_name(one)) for one in sample.labels])
    held = torch.zeros(len(labels), dtype=torch.bool)
    for label in range(len(names)):
        members = (labels == label).nonzero().flatten().tolist()
        ranked = sorted(members, key=lambda place: hashes[place])
        held[ranked[: held_out(len(ranked), wishes.test_share)]] = True
    return hashes, labels, held


def _school(pupil: Pupil, sample: Sample, wishes: Wishes, progress: Progress) -> None:
    """A trunk that is not pretrained learns from these images alone.

    Photographs are seen in crops of all sizes, as from files; arrays are shifted a little.
    """
    names = tuple(_name(one) for one in sorted(set(sample.labels)))  # type: ignore[type-var]
    if len(names) < 2:
        raise ValueError(f"one class, {names[0]}: a network that is new takes two to tell apart")
    _, labels, held = _split(sample, names, wishes)
    seen = pupil.preprocessing
    pixels = squares_of(sample.images, seen.side, seen.centre)
    are_arrays = isinstance(sample.images[0], np.ndarray)
    images = (Images if are_arrays and shifts(pupil) else of_pixels)(pixels, labels)
    splits = Splits(images[~held], images[held], names)
    with TemporaryDirectory() as folder:
        trained(pupil, splits, wishes, Path(folder), progress)


def _features(network: Classifier, pupil: Pupil, images: Sequence[Photograph]) -> Tensor:
    seen = pupil.preprocessing
    rows = [torch.empty(0, pupil.trunk.width)]
    for start in range(0, len(images), AT_ONCE):
        pixels = squares_of(images[start : start + AT_ONCE], seen.side, seen.centre)
        with torch.inference_mode():
            rows.append(network.features(pixels.to(memory_format=torch.channels_last)).clone())
    return torch.cat(rows)


def _name(label: Hashable) -> str:
    """What a class is called in a model: text as it stands, anything else as Python writes it."""
    return str(label) if isinstance(label, str) else repr(label)
