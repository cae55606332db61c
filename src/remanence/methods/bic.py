"""BiC (CVPR 2019): distillation, then two numbers that correct the bias towards new classes.

Some exemplars of every class are set aside; the network is never trained on them. When it is
trained, the logits z of the newest classes become beta z + gamma, and beta and gamma are fitted on
what was set aside. The teacher of the next session speaks with its own correction; older ones are
not applied again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from remanence.core import seeds
from remanence.core.errors import SettingsError
from remanence.core.settings import AtLeastOne, NotNegative, Positive, settings
from remanence.data.base import Data, Scale
from remanence.effects.base import Effect, Lens, View
from remanence.heads import CorrectedHead, Head
from remanence.loader import Batch, Pool
from remanence.losses import soft_cross_entropy
from remanence.memory import Memory, old_exemplars, picked, rank_in_class
from remanence.methods.base import Method, Stage, with_last_relu
from remanence.network import Network, Output
from remanence.schedule import Training
from remanence.session import Session
from remanence.stream import Increment

ONE_IN = 10  # of a class's exemplars, by rank, so that a smaller budget still has some of both
FIRST_RANK = 1  # the best one is trained on
RATE_IS_FOR_BATCH = 256


@settings
class _Uncorrected(Effect):
    """Prediction without the correction; every effect on the corrected logits is left out, too."""

    replaces_logits: ClassVar[bool] = True

    def lens(self) -> Lens:
        return _UncorrectedLens()


class _UncorrectedLens(Lens):
    """Shows the bare logits, and notes the correction that it leaves out."""

    learned: ClassVar[tuple[str, ...]] = ("beta", "gamma")

    def __init__(self) -> None:
        self.beta, self.gamma = 1.0, 0.0

    @property
    def captures(self) -> bool:
        return True

    def settle(self, session: Session, kept: Pool, shown: View) -> None:
        self.beta, self.gamma = (one.item() for one in _corrected(session.network).correction())

    def forward(self, out: Output, head: Head) -> Output:
        return dataclasses.replace(out, logits=out.scores)

    def numbers(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in self.learned}


@settings
class Bic(Method):
    """Bias Correction. One exemplar in ten, and at least one, of each class is for validation.

    temperature: by which logits are divided before they are compared with the teacher's.
    bias_epochs: of the stage that fits the correction; open, twice those of the increment.
    bias_rate: its learning rate, times batch / 256; it drops where the main one does.
    shrinkage: weight of gamma^2 / 2 in that stage.
    """

    schedules: ClassVar[Mapping[Scale, Training]] = {
        **Method.schedules,
        "cifar": Training.steps(250, (0.4, 0.6, 0.8), weight_decay=2e-4),
        "imagenet_sub": Training.steps(100, (0.3, 0.6, 0.8, 0.9), weight_decay=1e-4, batch=256),
        "imagenet_full": Training.steps(100, (0.3, 0.6, 0.8, 0.9), weight_decay=1e-4, batch=256),
    }
    captures: ClassVar[bool] = True
    keep_shapes_base: ClassVar[bool] = True

    temperature: Positive = 2.0
    bias_epochs: AtLeastOne | None = None
    bias_rate: Positive = 0.1
    shrinkage: NotNegative = 0.1

    def head(self, width: int) -> Head:
        return CorrectedHead(width)

    def backbone(self, data: Data) -> Mapping[str, Any]:
        return with_last_relu(data)

    def base_signature(self) -> dict[str, Any]:
        return {"head": "linear, corrected", "loss": "cross-entropy without validation images"}

    def check(
        self, increments: Sequence[Increment], effects: Sequence[Effect], memory: Memory
    ) -> None:
        classes = increments[-1].classes
        if memory.share(classes) >= 2:
            return
        name = "per_class" if memory.total is None else "total"
        raise SettingsError(
            f"memory.{name}: {getattr(memory, name)} is too few for {classes} classes, since bic "
            "trains on some exemplars of a class and corrects its bias on others; keep at least "
            "2 of each, or choose method=lwf, which needs none"
        )

    def classify(self, seen: Output, labels: Tensor, session: Session) -> Tensor:
        # Until the correction is fitted gamma is 0, and so is what is added here.
        gamma = _corrected(session.network).gamma
        return super().classify(seen, labels, session) + self.shrinkage * gamma**2 / 2

    def weight(self, session: Session) -> float:
        return self.classification_weight * session.new_classes / session.classes

    def preserve(
        self, out: Output, old: Output, batch: Batch, session: Session
    ) -> dict[str, Tensor]:
        kept = soft_cross_entropy(out.logits, old.logits, self.temperature)
        return {"distillation": session.old_classes / session.classes * kept}

    def visits(self, session: Session) -> Tensor:
        pool = session.pool
        is_aside = torch.zeros(len(pool), dtype=torch.bool)
        is_aside[torch.cat([aside for _, aside in _set_aside(session)])] = True
        old = slice(pool.new_count, None)
        is_aside[old] = _is_validation(rank_in_class(pool.images.labels[old]))
        return pool.everything[~is_aside.to(pool.device)]

    def stages(self, session: Session) -> tuple[Stage, ...]:
        main = self.main_stage(
            session, lambda network: [*network.trunk.parameters(), *network.head.rows()]
        )
        if session.teacher is None:
            return (main,)
        assert session.training.batch is not None, "filled from the data"
        rate = self.bias_rate * session.training.batch / RATE_IS_FOR_BATCH
        bias = Stage(
            "bias",
            dataclasses.replace(session.training, rate=rate, weight_decay=0.0),
            self.bias_epochs or 2 * main.epochs,
            trained=lambda network: _corrected(network).correction(),
            on_exemplars=True,
            members=_for_validation,
            is_main=False,
            distils=False,
            varies_images=False,
            freezes_statistics=True,
        )
        return (main, bias)

    def choose(self, session: Session) -> Tensor:
        pool = session.pool
        kept = [old_exemplars(pool, session.keep)]
        for members, aside in _set_aside(session):
            is_aside = _is_validation(torch.arange(min(session.keep, len(members))))
            ranked = torch.empty_like(is_aside, dtype=torch.int64)
            ranked[is_aside] = aside
            rest = members[~torch.isin(members, aside)]
            count = len(ranked) - len(aside)
            ranked[~is_aside] = picked(pool, session.network, rest, count)
            kept.append(ranked)
        return torch.cat(kept).to(pool.device)

    def rules(self) -> dict[str, tuple[Effect, ...]]:
        return {"cnn": (), "uncorrected": (_Uncorrected(),)}


def _is_validation(ranks: Tensor) -> Tensor:
    return ranks % ONE_IN == FIRST_RANK


def _set_aside(session: Session) -> list[tuple[Tensor, Tensor]]:
    """The places of each new class, and those drawn from them that are not trained on."""
    chance = seeds.generator(session.seed, session.increment, "validation")
    labels, drawn = session.pool.images.labels, []
    for label in range(session.old_classes, session.classes):
        members = torch.nonzero(labels == label).flatten()
        count = int(_is_validation(torch.arange(min(session.keep, len(members)))).sum())
        places = torch.randperm(len(members), generator=chance)[:count]
        drawn.append((members, members[places]))
    return drawn


def _for_validation(session: Session, kept: Pool) -> Tensor:
    """What is for validation among the kept images."""
    ranks = rank_in_class(kept.images.labels)
    return kept.everything[_is_validation(ranks).to(kept.device)]


def _corrected(network: Network) -> CorrectedHead:
    assert isinstance(network.head, CorrectedHead), "the head of this method"
    return network.head
