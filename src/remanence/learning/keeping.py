"""Which photographs are kept for later: the best of each class, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from remanence.learning.wishes import Budget
from remanence.memory import herd
from remanence.model.description import KeptPhotograph
from remanence.model.folder import hash_of
from remanence.photographs.decode import CENTRE, reduced


@dataclass(frozen=True)
class Candidate:
    """A photograph that may be kept: one that is kept already, or a file that was learned from."""

    label: int
    features: Tensor
    kept: KeptPhotograph | None = None
    file: Path | None = None
    name: str = ""


@dataclass(frozen=True)
class Keepsakes:
    """The photographs that are kept, the best of a class first; features; bytes of new ones."""

    photographs: tuple[KeptPhotograph, ...]
    features: Tensor
    new: dict[str, bytes]


def keep(candidates: Sequence[Candidate], budget: Budget, side: int) -> Keepsakes:
    """Choose and encode; of classes without new candidates the order stays as it was."""
    chosen: list[tuple[KeptPhotograph, Tensor]] = []
    new: dict[str, bytes] = {}
    spent = 0
    for candidate in _by_rank(candidates, budget):
        photograph, content = _encoded(candidate, side)
        if budget.size is not None and spent + photograph.bytes > budget.size:
            break
        spent += photograph.bytes
        chosen.append((photograph, candidate.features))
        if content is not None:
            new[photograph.hash] = content
    chosen.sort(key=lambda pair: pair[0].label)
    width = candidates[0].features.shape[0] if candidates else 0
    features = torch.stack([f for _, f in chosen]) if chosen else torch.empty(0, width)
    return Keepsakes(tuple(photograph for photograph, _ in chosen), features, new)


def _by_rank(candidates: Sequence[Candidate], budget: Budget) -> list[Candidate]:
    """The best of every class, then the second best of every class, and so on."""
    most = len(candidates) if budget.per_class is None else budget.per_class
    ranked: list[tuple[int, int, Candidate]] = []
    for label in sorted({one.label for one in candidates}):
        members = [one for one in candidates if one.label == label]
        for rank, one in enumerate(_ranked(members, most)):
            ranked.append((rank, label, one))
    return [one for _, _, one in sorted(ranked, key=lambda triple: triple[:2])]


def _ranked(members: list[Candidate], most: int) -> list[Candidate]:
    if all(one.kept for one in members):
        return members[:most]
    order = herd(torch.stack([one.features for one in members]), most)
    return [members[place] for place in order.tolist()]


def _encoded(candidate: Candidate, side: int) -> tuple[KeptPhotograph, bytes | None]:
    if candidate.kept is not None:
        return candidate.kept, None
    assert candidate.file is not None
    content = reduced(candidate.file, round(side / CENTRE))
    hashed = hash_of(content)
    return KeptPhotograph(
        label=candidate.label, hash=hashed, name=candidate.name, bytes=len(content)
    ), content
