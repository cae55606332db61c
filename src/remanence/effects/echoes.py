"""Old classes echo in the new images: each new image, moved to an old class, speaks for it.

Of each class only the mean of its features is kept. While new classes are learned, every image of a
batch lends its deviation from its own class to an old class c, drawn by chance, and

    place of c  +  (features of the image - mean of its class)

is classified as c beside the batch. The deviation carries the gradient: the network is asked to
keep images apart in the ways that tell old classes apart too, and new rows of the head stay off the
old classes' ground. Where c is by now is told by its colliding images: the K new images nearest to
its mean in the *old* network's feature space, by a share of how far they have moved since,

    place of c  =  mean of c  +  share * average over neighbours j of (features of j now - then).

"Now" is a bank of each image's last features, so that all this costs no forward.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.core.settings import AtLeastOne, Fraction, Positive, settings
from remanence.effects.base import Effect, Lens
from remanence.loader import Batch
from remanence.neighbours import best_in_tiles
from remanence.network import Output
from remanence.session import Session


@settings
class Echoes(Effect):
    """One vector is kept of each class, whatever else is kept.

    weight: of the echoes' classification, beside that of a batch.
    neighbours: K, the new images that tell how an old class has moved.
    share: how much of their movement the old class is taken to have made too; 0 leaves it.
    through: whether the gradient of an echo reaches the network, or the head only.
    """

    acts_in_training: ClassVar[bool] = True

    weight: Positive = 1.0
    neighbours: AtLeastOne = 10
    share: Fraction = 0.5
    through: bool = True

    def lens(self) -> Lens:
        return _EchoesLens(self)


class _EchoesLens(Lens):
    learned: ClassVar[tuple[str, ...]] = ("means", "near", "before_features", "bank")

    def __init__(self, chosen: Echoes) -> None:
        self.chosen = chosen
        self.means: Tensor | None = None
        self.near: Tensor | None = None
        self.before_features: Tensor | None = None
        self.bank: Tensor | None = None

    @property
    def captures(self) -> bool:
        return True

    def begin(self, session: Session) -> None:
        if session.teacher is None:
            return
        assert self.means is not None
        pool = session.pool
        self.before_features = pool.outputs(session.teacher, pool.everything).features
        self.bank = self.before_features.clone()
        of_news = F.normalize(self.before_features[: pool.new_count]).T
        unit, count = F.normalize(self.means), min(self.chosen.neighbours, pool.new_count)
        self.near = best_in_tiles(lambda rows: unit[rows] @ of_news, len(unit), count)[0]

    def beside(self, out: Output, batch: Batch, session: Session) -> Tensor | None:
        if session.teacher is None or not batch.epoch.is_main:
            return None
        features = out.features if self.chosen.through else out.features.detach()
        deviations = features - self._centres(session)[batch.labels]
        places = self.places()
        labels = torch.randint(len(places), batch.labels.shape, device=features.device)
        logits = session.network.head(places[labels] + deviations).logits
        return self.chosen.weight * F.cross_entropy(logits, labels)

    def watch(self, out: Output, batch: Batch, session: Session) -> None:
        if self.bank is not None and batch.epoch.is_main:
            self.bank.index_copy_(0, batch.indices, out.features.detach())

    def settle(self, session: Session, *_: Any) -> None:
        """Remember the new classes, and the old ones where they are by now."""
        news = session.pool.everything[: session.pool.new_count]
        features = session.pool.outputs(session.network, news).features
        means = _means(features, session.pool.labels[news], session.classes)
        olds = means[:0] if session.teacher is None else self.places()
        self.means = torch.cat([olds, means[session.old_classes :]])
        self.near = self.before_features = self.bank = None

    def places(self) -> Tensor:
        """Where the old classes' means are by now."""
        assert self.means is not None
        if self.near is None or self.bank is None or self.before_features is None:
            return self.means
        moved = self.bank[self.near] - self.before_features[self.near]
        return self.means + self.chosen.share * moved.mean(1)

    def _centres(self, session: Session) -> Tensor:
        """The mean features of every class that the pool has images of, as they are by now."""
        assert self.bank is not None
        return _means(self.bank, session.pool.labels, session.classes)


def _means(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """The mean of each class; zero where there is no image of it."""
    counts = torch.zeros(classes, device=features.device, dtype=features.dtype)
    counts.index_add_(0, labels, torch.ones_like(counts[labels]))
    sums = features.new_zeros(classes, features.shape[1]).index_add_(0, labels, features)
    return sums / counts.clamp(min=1)[:, None]
