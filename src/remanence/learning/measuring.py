"""How well it is known, on held-out images; and how sure one may be of it."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.learning.knowledge import Knowledge
from remanence.model.description import Measured

COLDEST, HOTTEST = 1e-3, 1e3
ROUNDS = 60


def measured(now: Knowledge, before: Knowledge | None) -> Measured:
    """Accuracy on the held-out images of all, old and new classes, and of old ones before.

    before: what was known before the lesson. It is asked about the same images of its classes, so
    that nothing but the lesson makes the difference.
    """
    labels, right = now.held.labels, _right(now)
    old_classes = len(before.names) if before else 0
    is_old = labels < old_classes
    return Measured(
        all=_percent(right),
        old=_percent(right[is_old]),
        new=_percent(right[~is_old]) if before else None,
        before=_percent(_right(before, now)[is_old]) if before else None,
    )


def remembered(now: Knowledge) -> list[float | None]:
    """Of each class the percentage of its held-out images that are recognised."""
    right = _right(now)
    return [_percent(right[now.held.labels == label]) for label in range(len(now.names))]


def temperature(logits: Tensor, labels: Tensor) -> float:
    """What divides logits so that their softmax is as sure as it is right on these images.

    The cross-entropy to smoothed labels is least there. With n images no label is held for more
    than n + 1 to 1: without that, logits that are all right would ask for temperature zero.
    """
    if len(labels) == 0:
        return 1.0
    smoothing = 1 / (len(labels) + 2)

    def loss(exponent: float) -> float:
        heated = logits.double() / math.exp(exponent)
        return float(F.cross_entropy(heated, labels, label_smoothing=smoothing))

    low, high = math.log(COLDEST), math.log(HOTTEST)
    for _ in range(ROUNDS):  # by thirds: it is convex in 1 / temperature, and has one valley
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if loss(left) < loss(right) else (left, high)
    return math.exp((low + high) / 2)


def _right(knower: Knowledge, asked: Knowledge | None = None) -> Tensor:
    """Which held-out images are recognised: its own, or those that somebody else holds out."""
    held = (asked or knower).held
    logits = F.linear(held.features, *knower.sums.rows(knower.shrinkage))
    return logits.argmax(1) == held.labels


def _percent(right: Tensor) -> float | None:
    return 100 * float(right.double().mean()) if len(right) else None


def calibration_error(probabilities: Tensor, labels: Tensor, bins: int = 10) -> float:
    """Points by which what is said to be sure differs from what is right, on average."""
    sure, said = probabilities.max(1)
    right = (said == labels).double()
    bin_of = (sure * bins).long().clamp(max=bins - 1)
    gaps = [
        (right[bin_of == b].sum() - sure[bin_of == b].double().sum()).abs() for b in range(bins)
    ]
    return 100 * float(torch.stack(gaps).sum()) / max(1, len(labels))
