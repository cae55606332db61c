"""Test images of all classes seen so far, named by every reading of the network."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from remanence.data.base import Images
from remanence.engine.learner import Learner
from remanence.memory import summary
from remanence.network import EVALUATION_BATCH
from remanence.records import Record
from remanence.stream import Increment


def predictions(learner: Learner, images: Images) -> dict[str, Tensor]:
    """The class that each reading gives each image."""
    pool = learner.pool(images)
    parts: dict[str, list[Tensor]] = {}
    out = pool.outputs(learner.network, pool.everything)
    with torch.no_grad():
        for start in range(0, len(images), EVALUATION_BATCH):
            part = out[slice(start, start + EVALUATION_BATCH)]
            for name, seen in learner.lenses.read(part, learner.network.head).items():
                parts.setdefault(name, []).append(seen.logits.argmax(1).cpu())
    return {name: torch.cat(columns) for name, columns in parts.items()}


def evaluate(learner: Learner, increments: Sequence[Increment]) -> tuple[Record, dict[str, Tensor]]:
    """The record after the last of these increments, and the predictions it counts."""
    tests = _joined([increment.test for increment in increments])
    named = predictions(learner, tests)
    classes = increments[-1].classes
    tested = torch.bincount(tests.labels, minlength=classes)
    right = {
        name: torch.bincount(tests.labels[guess == tests.labels], minlength=classes)
        for name, guess in named.items()
    }
    record = Record(
        increment=increments[-1].number,
        group_sizes=tuple(one.classes - one.first_class for one in increments),
        tested=tuple(tested.tolist()),
        readings={name: tuple(counts.tolist()) for name, counts in right.items()},
        learned=learner.lenses.numbers(),
        kept=summary(learner.exemplars),
    )
    return record, named | {"labels": tests.labels}


def _joined(parts: Sequence[Images]) -> Images:
    """All of them in order; by halves, so that no image is copied once for every part."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return _joined(parts[:middle]).joined(_joined(parts[middle:]))
