"""What a method is: the questions that it answers, each with a default.

A method is a frozen dataclass of pure functions. `classify` gets what the lenses show; `preserve`
gets what network and teacher really say, so that no effect can leak into a distillation.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from torch import Tensor, nn
from torch.nn import functional as F

from remanence.core.settings import Choice, NotNegative, encode, settings
from remanence.data.base import Data, Scale
from remanence.effects.base import Effect
from remanence.heads import Head
from remanence.loader import Batch, Pool
from remanence.memory import choose_exemplars
from remanence.network import Network, Output
from remanence.schedule import Training
from remanence.session import Session


def _everything(session: Session) -> Tensor:
    return session.pool.everything


def _all_parameters(network: Network) -> Iterable[nn.Parameter]:
    return network.parameters()


@dataclass(frozen=True)
class Stage:
    """One round of gradient descent in a session.

    trained: the parameters that move; all others are left out of the optimiser.
    members: the places of the pool that are visited, asked when the stage begins.
    is_main: whether effects shape the classification loss in it.
    """

    name: str
    training: Training
    epochs: int
    trained: Callable[[Network], Iterable[nn.Parameter]] = _all_parameters
    members: Callable[[Session], Tensor] = _everything
    is_main: bool = True
    freezes_statistics: bool = False


@settings
class Method(Choice):
    """How classes are learned and old ones preserved.

    classification_weight: of the classification loss, once there is a teacher.
    """

    schedules: ClassVar[Mapping[Scale, Training]] = {
        "digits": Training.steps(20, (0.5, 0.75), weight_decay=5e-4, batch=32),
        "cifar": Training.steps(160, (1 / 2, 3 / 4), weight_decay=5e-4),
        "imagenet": Training.steps(90, (1 / 3, 2 / 3), weight_decay=1e-4),
    }

    classification_weight: NotNegative = 1.0

    @abstractmethod
    def head(self, width: int) -> Head:
        """A head without rows."""

    def resolved(self, data: Data) -> Self:
        """The method with what was left open filled for the data."""
        return self

    def backbone(self, data: Data) -> str:
        """The name of the backbone that the method is published with on such data."""
        return data.backbone

    def training(self, data: Data) -> Training:
        """The schedule that the method is published with on such data."""
        schedule = self.schedules[data.scale]
        return dataclasses.replace(
            schedule, augmentation=schedule.augmentation or data.augmentation
        )

    def base_signature(self) -> dict[str, Any]:
        """What of the method shapes the base increment: equal ones share one training."""
        return dict(encode(self))

    def rows(self, network: Network, pool: Pool, classes: range) -> Tensor:
        """The head's first rows for new classes; the network does not know them yet."""
        return network.head.fresh_rows(len(classes))

    def classify(self, seen: Output, labels: Tensor, session: Session) -> Tensor:
        """The classification loss of each image: minus the log-probability of its label."""
        return F.cross_entropy(seen.logits, labels, reduction="none")

    def preserve(
        self, out: Output, old: Output, batch: Batch, session: Session
    ) -> dict[str, Tensor]:
        """Named loss terms that keep the network close to its teacher."""
        return {}

    def stages(self, session: Session) -> tuple[Stage, ...]:
        """The rounds of gradient descent in a session."""
        return (self.main_stage(session),)

    def main_stage(
        self,
        session: Session,
        trained: Callable[[Network], Iterable[nn.Parameter]] = _all_parameters,
    ) -> Stage:
        """The usual first stage: the whole pool for the scheduled epochs."""
        epochs = session.training.epochs_of(session.increment)
        return Stage("main", session.training, epochs, trained)

    def remember(self, session: Session) -> Tensor:
        """The places in the pool of the images to keep, class after class, the best first."""
        pool, classes = session.pool, range(session.old_classes, session.classes)
        return choose_exemplars(pool, session.network, classes, session.keep)

    def rules(self) -> dict[str, tuple[Effect, ...]]:
        """The ways to predict from the trained network, the method's own first."""
        return {"cnn": ()}


BASE = Method
