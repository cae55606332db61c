"""What is taken for what, counted from the predictions that a run has kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int16]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Side:
    """The test images of old classes, or those of new ones: how they are named."""

    right: int
    as_old: int
    as_new: int

    @property
    def images(self) -> int:
        """How many there are."""
        return self.right + self.as_old + self.as_new

    def share(self, count: int) -> float:
        """A count of these in percent."""
        return 100 * count / self.images if self.images else 0.0


@dataclass(frozen=True)
class Mistake:
    """Images of one class that are taken for another."""

    true: int
    taken_for: int
    images: int
    share: float


def counted(true: Labels, named: Labels, classes: int) -> Counts:
    """How many images of each class (rows) are named as each (columns)."""
    places = true.astype(np.int64) * classes + named
    return np.bincount(places, minlength=classes**2).reshape(classes, classes)


def old_and_new(counts: Counts, old_classes: int) -> tuple[Side, Side]:
    """The two sides; of either, what is wrong is split by what it is taken for."""
    return _side(counts, slice(old_classes), old_classes), _side(
        counts, slice(old_classes, None), old_classes
    )


def _side(counts: Counts, rows: slice, old_classes: int) -> Side:
    right = np.diag(np.diag(counts))[rows]
    wrong = counts[rows] - right
    new = slice(old_classes, None)
    return Side(int(right.sum()), int(wrong[:, :old_classes].sum()), int(wrong[:, new].sum()))


def between_groups(counts: Counts, sizes: Sequence[int]) -> list[list[float]]:
    """Of the images of each increment's classes, the percentage named as each increment's."""
    starts = np.cumsum([0, *sizes[:-1]])
    grouped = np.add.reduceat(np.add.reduceat(counts, starts, 0), starts, 1)
    shares = 100 * grouped / np.maximum(grouped.sum(1, keepdims=True), 1)
    return [[float(share) for share in row] for row in shares]


def most_frequent(counts: Counts, limit: int) -> list[Mistake]:
    """The commonest mistakes, the commonest first."""
    wrong = counts - np.diag(np.diag(counts))
    tested = counts.sum(1)
    classes = len(counts)
    found = []
    for place in np.argsort(-wrong, axis=None, kind="stable")[:limit]:
        true, other = divmod(int(place), classes)
        if images := int(wrong[true, other]):
            found.append(Mistake(true, other, images, 100 * images / int(tested[true])))
    return found


def usual_mistakes(counts: Counts) -> list[Mistake | None]:
    """Of each class, what its images are most often taken for; None where they never are."""
    wrong = counts - np.diag(np.diag(counts))
    found: list[Mistake | None] = []
    for true, row in enumerate(wrong):
        other = int(row.argmax())
        images, tested = int(row[other]), int(counts[true].sum())
        found.append(Mistake(true, other, images, 100 * images / tested) if images else None)
    return found
