"""The photographs of a lesson: which there are, which are left out and why, which are held out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from remanence.core.errors import DataError
from remanence.core.machine import processors
from remanence.core.packings import expanded
from remanence.data.folder import layout
from remanence.learning.wishes import Wishes
from remanence.photographs.collection import Photographs
from remanence.photographs.scan import Classes, File, albums, readable
from remanence.photographs.split import Hashes, hashes

SHOWN = 3  # names in a line

Told = Mapping[str, str]  # the hash of a photograph to the class that it was learned as


@dataclass(frozen=True)
class Reading:
    """What a folder holds for a model that has seen some photographs before.

    names: the classes that have anything new. taught, held: their photographs.
    only_measured: whether those held out come from a folder of tests.
    notes: lines that the user should read.
    """

    names: tuple[str, ...]
    taught: Photographs
    held: Photographs
    only_measured: bool
    notes: tuple[str, ...] = ()

    def only(self, taught: Tensor, held: Tensor) -> Reading:
        """Some of it; no class may lose all that it is learned from."""
        left = dataclasses.replace(self, taught=self.taught[taught], held=self.held[held])
        for label, name in enumerate(self.names):
            if (self.taught.labels == label).any() and not (left.taught.labels == label).any():
                raise DataError(f"class '{name}' has no photograph that can be read: add some")
        return left

    def counts(self, name: str) -> tuple[int, int]:
        """How many photographs of a class are learned from, and how many are held out."""
        if name not in self.names:
            return 0, 0
        label = self.names.index(name)
        taught, held = (int((p.labels == label).sum()) for p in (self.taught, self.held))
        return taught, held

    @property
    def told(self) -> dict[str, str]:
        """The hash of every photograph and its class."""
        return {
            one.album.hash(place): self.names[label]
            for one in (self.taught, self.held)
            for place, label in zip(one.places.tolist(), one.labels.tolist(), strict=True)
        }


def read(folder: Path, side: int, told: Told, wishes: Wishes) -> Reading:
    """The photographs to learn from; no class is named where all of them are known."""
    root, workers = expanded(str(folder)), wishes.workers or processors()
    if not root.is_dir():
        raise DataError(f"there is no folder {root}: name one that has a folder for each class")
    train, test = layout(root)
    notes: dict[str, list[str]] = {}
    train, wrong = readable(root, train, workers)
    if test is not None:
        test, also_wrong = readable(root, test, workers)
        wrong = [*wrong, *also_wrong]
    _note(notes, "left out because they cannot be read as images", wrong)
    everything = [
        file.name for one in (train, test or {}) for each in one.values() for file in each
    ]
    sieve = _Sieve(hashes(root, everything, workers), told, notes)
    held = sieve.fresh(test) if test is not None else None
    taught = sieve.fresh(train)
    old = frozenset(told.values())
    names = tuple(name for name in train if taught[name] or name not in old)
    if held is None:
        taught, held = _split(taught, sieve.known, wishes.test_share)
    _check(root, {name: (taught[name], held[name]) for name in names if name not in old})
    parts = [{name: part[name] for name in names} for part in (taught, held)]
    images = albums(root, parts[0], parts[1], side, workers)
    images[0].album.hashes.update(_by_place(images[0], sieve.known))
    return Reading(names, *images, test is not None, tuple(_lines(notes)))


class _Sieve:
    """Lets each photograph through once, under one class, and only if it was not told before."""

    def __init__(self, known: Hashes, told: Told, notes: dict[str, list[str]]) -> None:
        self.known = known
        self._told = told
        self._notes = notes
        self._passed: set[str] = set()

    def fresh(self, classes: Classes) -> dict[str, list[File]]:
        """The files that are new; why others are not is noted."""
        shown_as: dict[str, set[str]] = {}
        for name, photographs in classes.items():
            for file in photographs:
                shown_as.setdefault(self.known[file.name], set()).add(name)
        return {
            name: [file for file in photographs if self._passes(file, name, shown_as)]
            for name, photographs in classes.items()
        }

    def _passes(self, file: File, name: str, shown_as: Mapping[str, set[str]]) -> bool:
        hashed = self.known[file.name]
        others = shown_as[hashed] - {name}
        before = self._told.get(hashed)
        if others:
            what = "left out because they are in more than one class"
        elif before == name:
            what = "known already"
        elif before is not None:
            what = "left out because they were learned as another class before"
        elif hashed in self._passed:
            what = "there more than once"
        else:
            self._passed.add(hashed)
            return True
        _note(self._notes, what, [file.name])
        return False


def _note(notes: dict[str, list[str]], what: str, about: Sequence[str]) -> None:
    if about:
        notes.setdefault(what, []).extend(about)


def _lines(notes: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for what, about in notes.items():
        shown = "; ".join(about[:SHOWN]) + ("; ..." if len(about) > SHOWN else "")
        yield f"{what}: {len(about)} photograph{'s' * (len(about) != 1)} ({shown})"


def _split(
    classes: Mapping[str, Sequence[File]], known: Hashes, share: float
) -> tuple[dict[str, list[File]], dict[str, list[File]]]:
    """By the order of the hashes: the same photographs are held out wherever they lie."""
    taught, held = {}, {}
    for name, photographs in classes.items():
        ranked = sorted(photographs, key=lambda file: known[file.name])
        count = held_out(len(ranked), share)
        held[name], taught[name] = ranked[:count], ranked[count:]
    return taught, held


def held_out(count: int, share: float) -> int:
    """How many of so many photographs of a class: at least one is left to learn from."""
    return min(math.ceil(share * count), max(0, count - 1))


def _check(root: Path, classes: Mapping[str, tuple[Sequence[File], Sequence[File]]]) -> None:
    """A class that is new takes something to learn from, and something to measure on."""
    for name, (taught, held) in classes.items():
        if not taught or not held:
            raise DataError(
                f"class '{name}' in {root} has {len(taught) + len(held) or 'no'} photograph"
                f"{'s' * (len(taught) + len(held) != 1)} of use; to learn and to measure takes two "
                "that differ: add some, or take the class away"
            )


def _by_place(images: Photographs, known: Hashes) -> Iterator[tuple[int, str]]:
    return ((place, known[name]) for place, name in enumerate(images.album.names))
