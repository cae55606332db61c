"""What a method is: the questions that it answers, each with a default.

A method is a frozen dataclass of pure functions. `classify` gets what the lenses show; `preserve`
gets what network and teacher really say, so that no effect can leak into a distillation.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from torch import Tensor, nn
from torch.nn import functional as F

from remanence.core.settings import Choice, NotNegative, encode, settings
from remanence.data.base import Data, Images, Scale
from remanence.effects.base import Effect
from remanence.heads import Head
from remanence.loader import Batch, Pool
from remanence.memory import Memory, choose_exemplars
from remanence.network import Network, Output, softmax
from remanence.schedule import Training
from remanence.session import Session, every_place
from remanence.stream import Increment


def _everything(session: Session, pool: Pool) -> Tensor:
    return pool.everything


def _visited(session: Session, pool: Pool) -> Tensor:
    return session.visited


def all_parameters(network: Network) -> Iterable[nn.Parameter]:
    """Everything moves."""
    return network.parameters()


def all_but_old_rows(network: Network) -> Iterable[nn.Parameter]:
    """Everything moves but what the head holds of old classes."""
    held = {id(row) for row in network.head.old_rows()}
    return [parameter for parameter in network.parameters() if id(parameter) not in held]


@dataclass(frozen=True)
class Stage:
    """One round of gradient descent in a session.

    trained: the parameters that move; all others are left out of the optimiser.
    on_exemplars: whether it trains on what `remember` keeps, not on the session's pool.
    members: the places of that pool that are visited.
    is_main: whether effects shape the classification loss in it.
    distils: whether `preserve` is asked in it.
    varies_images: whether images are augmented.
    freezes_statistics: whether batch norm uses its running statistics and leaves them.
    clamp: the largest absolute value that an element of a gradient may have.
    """

    name: str
    training: Training
    epochs: int
    trained: Callable[[Network], Iterable[nn.Parameter]] = all_parameters
    on_exemplars: bool = False
    members: Callable[[Session, Pool], Tensor] = _everything
    is_main: bool = True
    distils: bool = True
    varies_images: bool = True
    freezes_statistics: bool = False
    clamp: float | None = None


@settings
class Method(Choice):
    """How classes are learned and old ones preserved.

    schedules: what the method was published with, by the scale of the data.
    captures: whether a step is the same sequence of operations on tensors for every batch, so that
        a GPU may record it once and replay it.
    compares_maps: whether `preserve` looks at the maps of an output.
    keep_shapes_base: whether how much is kept shapes the base increment, too.
    chooses_again: whether the exemplars that a stage has trained on are chosen anew after it.
    classification_weight: of the classification loss, once there is a teacher.
    """

    schedules: ClassVar[Mapping[Scale, Training]] = {
        "digits": Training.steps(20, (0.5, 0.75), weight_decay=5e-4, batch=32),
        "cifar": Training.steps(160, (1 / 2, 3 / 4), weight_decay=5e-4),
        "imagenet_sub": Training.steps(90, (1 / 3, 2 / 3), weight_decay=1e-4),
        "imagenet_full": Training.steps(90, (1 / 3, 2 / 3), weight_decay=1e-4),
    }
    captures: ClassVar[bool] = False
    compares_maps: ClassVar[bool] = False
    keep_shapes_base: ClassVar[bool] = False
    chooses_again: ClassVar[bool] = False

    classification_weight: NotNegative = 1.0

    @abstractmethod
    def head(self, width: int) -> Head:
        """A head without rows."""

    def resolved(self, data: Data) -> Self:
        """The method with what was left open filled for the data."""
        return self

    def backbone(self, data: Data) -> Mapping[str, Any]:
        """The backbone that the method is published with on such data: its name and settings."""
        return {"name": data.backbone}

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

    def check(
        self, increments: Sequence[Increment], effects: Sequence[Effect], memory: Memory
    ) -> None:
        """Raise a SettingsError where the method cannot work on these increments, or with these."""

    def classify(self, seen: Output, labels: Tensor, session: Session) -> Tensor:
        """The classification loss of each image: minus the log-probability of its label."""
        return F.cross_entropy(seen.logits, labels, reduction="none")

    def probabilities(self, out: Output) -> Tensor:
        """What the network believes of every class, of which `classify` takes minus the log."""
        return softmax(out)

    def weight(self, session: Session) -> float:
        """The weight of the classification loss beside the terms of `preserve`."""
        return self.classification_weight

    def preserve(
        self, out: Output, old: Output, batch: Batch, session: Session
    ) -> dict[str, Tensor]:
        """Named loss terms that keep the network close to its teacher."""
        return {}

    def visits(self, session: Session) -> Tensor:
        """The places in the pool of the images that the network may be trained on."""
        return every_place(session)

    def stages(self, session: Session) -> tuple[Stage, ...]:
        """The rounds of gradient descent in a session."""
        return (self.main_stage(session),)

    def main_stage(
        self,
        session: Session,
        trained: Callable[[Network], Iterable[nn.Parameter]] = all_parameters,
    ) -> Stage:
        """The usual first stage: all of the pool that is visited, for the scheduled epochs."""
        epochs = session.training.epochs_of(session.increment)
        return Stage("main", session.training, epochs, trained, members=_visited)

    def choose(self, session: Session) -> Tensor:
        """The places in the pool of the images to keep, class after class, the best first."""
        pool, classes = session.pool, range(session.old_classes, session.classes)
        return choose_exemplars(pool, session.network, classes, session.keep)

    def remember(self, session: Session) -> Images:
        """The images to keep."""
        return session.pool.images[self.choose(session).cpu()]

    def rules(self) -> dict[str, tuple[Effect, ...]]:
        """The ways to predict from the trained network, the method's own first."""
        return {"cnn": ()}


def with_last_relu(data: Data) -> Mapping[str, Any]:
    """The data's backbone; a residual one ends with its usual ReLU, not with signed features."""
    ends = {"last_relu": True} if data.backbone.startswith("resnet") else {}
    return {"name": data.backbone} | ends


BASE = Method
