"""What is known beyond the network: sums to classify by, and held-out features to measure on.

Nothing here reads or writes. Features are those of a trunk that does not change any more, so that
a lesson is one look at each of its images, and what was known before stays exactly as it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.core.errors import FolderError
from remanence.discriminant import Sums
from remanence.model.classifier import TRANSFORMS
from remanence.model.description import Transform

TRANSFORM: Transform = "none"  # of the features: see docs/photographs.md for what was tried


class Labelled(NamedTuple):
    """Features, a row for each image, and labels."""

    features: Tensor
    labels: Tensor

    @classmethod
    def nothing(cls, width: int) -> Labelled:
        """No row yet."""
        return cls(torch.empty(0, width), torch.empty(0, dtype=torch.int64))

    def and_then(self, other: Labelled) -> Labelled:
        """These rows, then those."""
        pairs = zip(self, other, strict=True)
        return Labelled(*(torch.cat([mine, theirs]) for mine, theirs in pairs))

    def only(self, rows: Tensor) -> Labelled:
        """Some of the rows."""
        return Labelled(self.features[rows], self.labels[rows])


@dataclass(frozen=True)
class Lesson:
    """What is learned at once, of new classes or of known ones; labels are places in `names`.

    taught: to learn from. held: to measure on first, and to learn from then,
    unless they are `only_measured`.
    """

    names: tuple[str, ...]
    taught: Labelled
    held: Labelled
    only_measured: bool = False


@dataclass(frozen=True)
class Knowledge:
    """What lessons came to.

    names: of the classes, in the order in which they were first met.
    sums: of the features that were learned from, without those that are held out.
    held: features to measure on, of all classes. joins: which of them are learned from in the end.
    """

    names: tuple[str, ...]
    sums: Sums
    held: Labelled
    joins: Tensor
    shrinkage: float

    @classmethod
    def nothing(cls, width: int, shrinkage: float) -> Knowledge:
        """Before the first lesson, of features of this length."""
        joins = torch.empty(0, dtype=torch.bool)
        return cls((), Sums.nothing(width), Labelled.nothing(width), joins, shrinkage)

    def after(self, lesson: Lesson) -> Knowledge:
        """With what a lesson teaches."""
        names = (*self.names, *(name for name in lesson.names if name not in self.names))
        place = torch.tensor([names.index(name) for name in lesson.names])
        taught, held = (
            Labelled(_transformed(part.features), place[part.labels])
            for part in (lesson.taught, lesson.held)
        )
        joins = torch.full((len(held.labels),), not lesson.only_measured)
        return dataclasses.replace(
            self,
            names=names,
            sums=self.sums.plus(*taught, len(names)),
            held=self.held.and_then(held),
            joins=torch.cat([self.joins, joins]),
        )

    def rows(self) -> tuple[Tensor, Tensor]:
        """Weight and bias to predict with: everything is learned from but what is for tests."""
        return self.sums.plus(*self.held.only(self.joins), len(self.names)).rows(self.shrinkage)

    def held_logits(self) -> Tensor:
        """What is said of the held-out images by one who has not learned from them."""
        return F.linear(self.held.features, *self.sums.rows(self.shrinkage))

    def state(self) -> dict[str, Any]:
        """All that must be saved but the names and the settings."""
        return {
            "sums": dict(self.sums._asdict()),
            "held": {**self.held._asdict(), "joins": self.joins},
        }

    @classmethod
    def load(cls, state: Mapping[str, Any], names: Sequence[str], shrinkage: float) -> Knowledge:
        """What was saved, with the names of its classes."""
        try:
            sums, held = Sums(**state["sums"]), dict(state["held"])
            joins = held.pop("joins")
            found = cls(tuple(names), sums, Labelled(**held), joins, shrinkage)
            if len(sums.counts) != len(names) or len(joins) != len(found.held.labels):
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise FolderError("what the model remembers is damaged: roll it back") from None
        return found


def _transformed(features: Tensor) -> Tensor:
    return TRANSFORMS[TRANSFORM](features)
