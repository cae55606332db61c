"""Exemplars whose pixels are learned: a classifier made from them is to do well on other images.

The network is frozen. In each step the exemplars' features give the rows of a cosine classifier, in
one of two ways; what this says of a batch of other images is held against their labels, and the
loss descends to the pixels through the rows. All is a pure function of network, images and seed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from remanence.core.errors import RemanenceError
from remanence.data.base import Images
from remanence.loader import Batch, Epoch, Pool
from remanence.memory import rank_in_class
from remanence.network import Network, Output

HALVED_EVERY = 40  # epochs

Rows = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Descent:
    """How the pixels move: the optimiser of the exemplars' views, and what they are shown."""

    optimiser: Callable[[list[Tensor]], torch.optim.Optimizer]
    epochs: Sequence[Epoch]


def learned(kept: Pool, network: Network, rows: Rows, descent: Descent) -> Images:
    """The exemplars of a pool with pixels that have moved, rounded to what can be stored.

    rows: from the features of all exemplars to those of a classifier of all classes.
    """
    views = kept.test_view(kept.everything).requires_grad_()
    optimiser = descent.optimiser([views])
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, HALVED_EVERY, 0.5)
    for epoch in descent.epochs:
        for batch in epoch.batches():
            loss = _loss(views, network, rows, batch)
            (views.grad,) = torch.autograd.grad(loss, [views])
            optimiser.step()
        schedule.step()
    return Images(_stored(views.detach(), kept).cpu(), kept.images.labels)


def _loss(views: Tensor, network: Network, rows: Rows, batch: Batch) -> Tensor:
    """Cross-entropy on a batch, of a classifier that is made from the exemplars.

    Their activations are computed again for the gradient, a batch at a time: all at once they might
    not fit into memory.
    """

    def features_of(part: Tensor) -> Tensor:
        out: Output = network(part)
        return out.features

    with torch.no_grad():
        asked = features_of(batch.images)
    parts = views.split(batch.epoch.batch_size)
    features = torch.cat([checkpoint(features_of, part, use_reentrant=False) for part in parts])
    logits = F.linear(F.normalize(asked), F.normalize(rows(features)))
    return F.cross_entropy(logits, batch.labels)


def _stored(views: Tensor, kept: Pool) -> Tensor:
    """The pixels (uint8) that are seen nearest to these views."""
    if not bool(views.isfinite().all()):
        raise RemanenceError(
            "the pixels of the exemplars are no numbers: lower method.exemplar_rate"
        )
    pixels = torch.zeros_like(kept.images.pixels[:1])
    ends = Images(torch.cat([pixels, pixels + 255]), torch.zeros(2, dtype=torch.int64))
    extremes = dataclasses.replace(kept, images=ends, new_count=0)
    black, white = extremes.test_view(extremes.everything)
    levels: Tensor = (views - black) / (white - black) * 255
    return levels.round().clamp(0, 255).to(torch.uint8)


@dataclass(frozen=True)
class FittedRows:
    """A classifier that starts as the network's own and takes steps on the exemplars.

    start: the network's rows. labels: of the exemplars. passes, rate: of gradient descent, on one
    exemplar of each class at a time.
    """

    start: Tensor
    labels: Tensor
    passes: int
    rate: float

    def __call__(self, features: Tensor) -> Tensor:
        unit = F.normalize(features)
        rounds = [(unit[members], targets) for members, targets in self._rounds]
        rows = self.start
        for _ in range(self.passes):
            for part, targets in rounds:
                rows = rows - self.rate * _gradient(rows, part, targets)
        return rows

    @cached_property
    def _rounds(self) -> list[tuple[Tensor, Tensor]]:
        """The places of the exemplars of each rank, and what a perfect classifier says of them."""
        ranks = rank_in_class(self.labels.cpu()).to(self.labels.device)
        places = [torch.nonzero(ranks == rank).flatten() for rank in ranks.unique()]
        targets = F.one_hot(self.labels, len(self.start)).to(self.start.dtype)
        return [(members, targets[members]) for members in places]


def _gradient(rows: Tensor, unit: Tensor, targets: Tensor) -> Tensor:
    """Of the mean cross-entropy of a cosine classifier without scale, in its rows.

    Written out: it is differentiated once more, and autograd would take its time for that.
    """
    lengths = rows.norm(dim=1, keepdim=True)
    directions = rows / lengths
    errors: Tensor = (unit @ directions.T).softmax(1) - targets
    pulls = errors.T @ unit / len(unit)
    along = (pulls * directions).sum(1, keepdim=True)
    gradient: Tensor = (pulls - along * directions) / lengths
    return gradient


@dataclass(frozen=True)
class MeanRows:
    """A classifier of mean features: some classes' of the exemplars given, the others' held.

    held: a row for every class. labels: of the exemplars.
    """

    held: Tensor
    labels: Tensor

    def __call__(self, features: Tensor) -> Tensor:
        one_hot = F.one_hot(self.labels, len(self.held)).to(features.dtype)
        counts = one_hot.sum(0)[:, None]
        return torch.where(counts > 0, one_hot.T @ features / counts.clamp(min=1), self.held)
