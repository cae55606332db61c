"""TPCIL (ECCV 2020) [re-implementation from a description]: exemplars keep their topology.

No code was ever found, and the description leaves much open: what was decided where it is silent,
and why, is said in docs/methods/tpcil.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, ClassVar, Self

import torch
from pydantic import Field
from torch import Tensor

from remanence.clusters import representatives
from remanence.core import seeds
from remanence.core.errors import SettingsError
from remanence.core.settings import NotNegative, filled, settings
from remanence.data.base import Data, Scale
from remanence.effects.base import Effect
from remanence.loader import Batch
from remanence.losses import topology_change
from remanence.memory import Memory, choose_exemplars
from remanence.methods.base import Method
from remanence.methods.shared.imprinting import Imprinting
from remanence.network import Output, statistics_untouched
from remanence.schedule import Training
from remanence.session import Session
from remanence.stream import Increment

LEAST_VERTICES = 3  # two have one similarity, which correlates with nothing


@settings
class Tpcil(Imprinting):
    """Topology-Preserving Class-Incremental Learning.

    topology: weight of the loss (recalled: 15 on CIFAR, 10 on ImageNet; else 15).
    vertices: how many of the old classes' exemplars are compared in each step.
    """

    schedules: ClassVar[Mapping[Scale, Training]] = {
        **Method.schedules,
        "cifar": dataclasses.replace(Method.schedules["cifar"], augmentation="cifar_tpcil"),
    }

    captures: ClassVar[bool] = True

    topology: NotNegative | None = None
    vertices: Annotated[int, Field(ge=LEAST_VERTICES)] = 64

    def resolved(self, data: Data) -> Self:
        weight = 10.0 if data.scale.startswith("imagenet") else 15.0
        return filled(self, dataclasses.replace(self, topology=weight, finetune_epochs=0))

    def check(
        self, increments: Sequence[Increment], effects: Sequence[Effect], memory: Memory
    ) -> None:
        for increment in increments[1:]:
            kept = memory.share(increment.first_class) * increment.first_class
            if kept < LEAST_VERTICES:
                raise SettingsError(
                    f"memory.per_class: tpcil compares at least {LEAST_VERTICES} exemplars, but "
                    f"increment {increment.number} finds {kept}; keep more, or choose method=lucir"
                )

    def preserve(
        self, out: Output, old: Output, batch: Batch, session: Session
    ) -> dict[str, Tensor]:
        """The vertices are seen as prediction sees them, the teacher's in eval mode.

        Batch norm uses the statistics of the vertices and leaves no trace of them. With its running
        statistics a descent as steep as this one diverges: they lag behind the weights.
        """
        assert self.topology is not None, "filled from the data"
        assert session.teacher is not None
        images = session.pool.test_view(self._drawn(session))
        with statistics_untouched(session.network):
            now = session.network(images).features
        with torch.no_grad():
            before = session.teacher(images).features
        return {"topology": self.topology * topology_change(now, before)}

    def _drawn(self, session: Session) -> Tensor:
        """The places of some exemplars of old classes, by the chance that belongs to the step."""
        kept = session.pool.everything[session.pool.new_count :]
        lots = torch.rand(len(kept), device=kept.device)
        return kept[lots.topk(min(self.vertices, len(kept))).indices]

    def choose(self, session: Session) -> Tensor:
        classes = range(session.old_classes, session.classes)
        seed = seeds.derived(session.seed, session.increment, "vertices")
        pick = partial(representatives, seed=seed)
        return choose_exemplars(session.pool, session.network, classes, session.keep, pick)
