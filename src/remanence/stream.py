"""The stream of increments: which classes arrive when, and their images.

From here on a label is the position of a class in the order; names come back only in reports.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import PlainValidator, TypeAdapter

from remanence.core.errors import SettingsError
from remanence.core.settings import (
    AtLeastOne,
    AtLeastZero,
    Counts,
    Settings,
    nearest,
    refused,
    settings,
)
from remanence.data.base import Images, Splits
from remanence.orders import named_orders


def _as_order(value: Any) -> str | tuple[int, ...] | None:
    if value is None or (isinstance(value, str) and "," not in value):
        return value
    ids = value.split(",") if isinstance(value, str) else value
    if not isinstance(ids, list | tuple):
        raise refused(f"name an order, or list the classes as 3,1,2 (got {value!r})")
    return TypeAdapter(tuple[AtLeastZero, ...]).validate_python(ids)


@settings
class StreamPlan(Settings):
    """Which classes arrive when.

    order: a named order (icarl1993, lucir1993, ...), natural, random:SEED, or a list of classes.
    base, increment: classes in the first increment and in each later one (the last may be smaller).
    sizes: all the sizes, base first, where they are not equal; replaces base and increment.
    """

    order: Annotated[str | tuple[int, ...] | None, PlainValidator(_as_order)] = None
    base: AtLeastOne | None = None
    increment: AtLeastOne | None = None
    sizes: Counts = ()


@dataclass(frozen=True)
class Increment:
    """The classes that arrive together, `first_class` up to `classes`, and their images."""

    number: int
    first_class: int
    classes: int
    names: tuple[str, ...]
    train: Images
    test: Images

    @property
    def counts(self) -> list[int]:
        """How many training images each of the classes has."""
        counts = torch.bincount(self.train.labels, minlength=self.classes)
        return [int(count) for count in counts[self.first_class :]]


@dataclass(frozen=True)
class Stream:
    """All increments, in the order whose hash this is."""

    increments: tuple[Increment, ...]
    order_hash: str

    @property
    def class_names(self) -> tuple[str, ...]:
        """What the labels mean."""
        return tuple(name for increment in self.increments for name in increment.names)


def order_hash(order: Sequence[int]) -> str:
    """Twelve characters that tell one class order from another ("seed 1993" names three)."""
    return hashlib.sha256(",".join(map(str, order)).encode()).hexdigest()[:12]


def class_order(order: str | Sequence[int], classes: int) -> list[int]:
    """The class ids in the order in which they are learned."""
    ids = _order_by_name(order, classes) if isinstance(order, str) else list(order)
    for class_id, times in Counter(ids).items():
        if times > 1:
            raise SettingsError(f"stream.order: class {class_id} is seen twice; name each once")
        if class_id >= classes:
            raise SettingsError(
                f"stream.order: there is no class {class_id}; the data have 0 to {classes - 1}"
            )
    return ids


def _order_by_name(name: str, classes: int) -> list[int]:
    if name == "natural":
        return list(range(classes))
    if name.startswith("random:") and name.removeprefix("random:").isdecimal():
        seed = int(name.removeprefix("random:"))
        return [int(i) for i in np.random.default_rng(seed).permutation(classes)]
    orders = named_orders()
    if name not in orders:
        known = [*orders, "natural", "random:SEED"]
        raise SettingsError(f"stream.order: no order is called '{name}'{nearest(name, known)}")
    return orders[name]


def group_sizes(plan: StreamPlan, classes: int) -> list[int]:
    """How many classes each increment brings."""
    if plan.sizes:
        if sum(plan.sizes) > classes:
            raise SettingsError(
                f"stream.sizes: they add up to {sum(plan.sizes)}, but there are {classes} classes"
            )
        return list(plan.sizes)
    assert plan.base is not None and plan.increment is not None, "filled from the data"
    if plan.base > classes:
        raise SettingsError(f"stream.base: {plan.base} is more than all {classes} classes")
    later = range(plan.base, classes, plan.increment)
    return [plan.base, *(min(plan.increment, classes - start) for start in later)]


def make_stream(splits: Splits, plan: StreamPlan) -> Stream:
    """Cut a source into increments and re-label its images by their place in the order."""
    assert plan.order is not None, "filled from the data"
    order = class_order(plan.order, len(splits.class_names))
    sources = (splits.train.numbered(), splits.test.numbered())
    increments, first = [], 0
    for number, size in enumerate(group_sizes(plan, len(order))):
        last = first + size
        position = torch.full((len(splits.class_names),), -1)
        position[torch.tensor(order[first:last])] = torch.arange(first, last)
        train, test = (_relabelled(images, position) for images in sources)
        names = tuple(splits.class_names[class_id] for class_id in order[first:last])
        increments.append(Increment(number, first, last, names, train, test))
        _check_not_empty(increments[-1])
        first = last
    return Stream(tuple(increments), order_hash(order))


def _relabelled(images: Images, position: torch.Tensor) -> Images:
    labels = position[images.labels]
    kept = labels >= 0
    return images.labelled(labels)[kept]


def _check_not_empty(increment: Increment) -> None:
    for name, count in zip(increment.names, increment.counts, strict=True):
        if count == 0:
            raise SettingsError(f"class '{name}' has no training image: leave it out")
