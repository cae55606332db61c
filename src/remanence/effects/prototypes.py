"""Old classes speak through their prototypes, which move as the new images near them move.

Of each class the mean and the spread of its features are kept, two vectors. While new classes are
learned, features of old classes are drawn from them and classified beside the batch, so that new
rows of the head do not spread over the old ones' ground. The network goes on changing; where an old
class would be by now is read off the images that collide with it: the K new images nearest to its
prototype in the *old* network's feature space. The prototype moves as they have moved on average,

    mean_c  +  average over neighbours j of (features of j now - features of j then),

and "now" is a bank of each image's last features, so that all this costs no forward.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.core.settings import AtLeastZero, NotNegative, Positive, settings
from remanence.effects.base import Effect, Lens
from remanence.loader import Batch
from remanence.neighbours import best_in_tiles
from remanence.network import Output
from remanence.session import Session


@settings
class Prototypes(Effect):
    """Two vectors are kept of each class, whatever else is kept.

    weight: of the classification of drawn features, beside that of a batch.
    neighbours: how many new images tell how an old class has moved; 0 takes it to have stayed.
    scatter: how far draws lie from their mean, in standard deviations of the class.
    """

    acts_in_training: ClassVar[bool] = True

    weight: Positive = 1.0
    neighbours: AtLeastZero = 10
    scatter: NotNegative = 1.0

    def lens(self) -> Lens:
        return _PrototypesLens(self)


class _PrototypesLens(Lens):
    learned: ClassVar[tuple[str, ...]] = ("means", "spreads", "near", "before_features", "bank")

    def __init__(self, chosen: Prototypes) -> None:
        self.chosen = chosen
        self.means: Tensor | None = None
        self.spreads: Tensor | None = None
        self.near: Tensor | None = None
        self.before_features: Tensor | None = None
        self.bank: Tensor | None = None

    @property
    def captures(self) -> bool:
        return True

    def begin(self, session: Session) -> None:
        if session.teacher is None or self.chosen.neighbours == 0:
            return
        assert self.means is not None
        pool = session.pool
        news = pool.everything[: pool.new_count]
        self.before_features = pool.outputs(session.teacher, pool.everything).features
        self.bank = self.before_features.clone()
        unit, of_news = F.normalize(self.means), F.normalize(self.before_features[news]).T
        count = min(self.chosen.neighbours, len(news))
        self.near = best_in_tiles(lambda rows: unit[rows] @ of_news, len(unit), count)[0]

    def classification(self, losses: Tensor, batch: Batch, session: Session) -> Tensor:
        if session.teacher is None or not batch.epoch.is_main:
            return losses
        assert self.means is not None and self.spreads is not None
        places = self._places()
        labels = torch.randint(len(places), losses.shape, device=losses.device)
        noise = torch.randn(len(labels), places.shape[1], device=losses.device)
        drawn = places[labels] + self.chosen.scatter * self.spreads[labels] * noise
        drawn_loss = F.cross_entropy(session.network.head(drawn).logits, labels)
        return losses + self.chosen.weight * drawn_loss

    def watch(self, out: Output, batch: Batch, session: Session) -> None:
        if self.bank is not None and batch.epoch.is_main:
            self.bank.index_copy_(0, batch.indices, out.features.detach())

    def settle(self, session: Session, *_: Any) -> None:
        """Remember the new classes, and the old ones where they are by now."""
        news = session.pool.everything[: session.pool.new_count]
        features = session.pool.outputs(session.network, news).features
        labels = session.pool.labels[news]
        groups = [features[labels == c] for c in range(session.old_classes, session.classes)]
        means = torch.stack([group.mean(0) for group in groups])
        spreads = torch.stack([group.std(0, correction=0) for group in groups])
        old = (self._places(), self.spreads) if session.teacher is not None else (None, None)
        self.means, self.spreads = _below(old[0], means), _below(old[1], spreads)
        self.near = self.before_features = self.bank = None

    def _places(self) -> Tensor:
        """Where the old classes' means are by now."""
        assert self.means is not None
        if self.near is None or self.bank is None or self.before_features is None:
            return self.means
        moved = self.bank - self.before_features
        return self.means + moved[self.near].mean(1)


def _below(upper: Tensor | None, lower: Tensor) -> Tensor:
    return lower if upper is None else torch.cat([upper, lower])
