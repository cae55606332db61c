"""The gradient descent of one session; it can be cut after any step and gone on with."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from remanence.core import seeds
from remanence.core.progress import Progress
from remanence.data.base import Images
from remanence.engine.diary import Diary
from remanence.engine.keeper import Keeper
from remanence.engine.learner import Learner
from remanence.engine.losses import Losses
from remanence.engine.step import Step
from remanence.loader import Epoch, Pool
from remanence.methods.base import Stage
from remanence.network import Network
from remanence.session import Session


@dataclasses.dataclass(frozen=True)
class Course:
    """What accompanies a learner through its increments."""

    diary: Diary
    keeper: Keeper
    progress: Progress


@dataclasses.dataclass
class Position:
    """The next step to take: stage, epoch and batch, all from 0."""

    stage: int = 0
    epoch: int = 0
    batch: int = 0


@dataclasses.dataclass(frozen=True)
class Learned:
    """What a session came to, beside all that the learner has learned.

    chosen: the exemplars, if a stage had to choose them. skipped: batches that were left out.
    """

    chosen: Images | None = None
    skipped: int = 0


class Fit:
    """Runs the stages of a session, from the start or from where a saved one stood."""

    def __init__(self, learner: Learner, session: Session, course: Course) -> None:
        self.learner = learner
        self.session = session
        self.course = course
        self.position = Position()
        self.chosen: Images | None = None
        self.skipped = 0
        self._cut: Tensor | None = None

    def run(self, saved: Mapping[str, Any] | None) -> Learned:
        """Train through all stages; `saved` is what an earlier, cut run of this session left."""
        for _ in self.steps(saved):
            pass
        return Learned(self.chosen, self.skipped)

    def steps(self, saved: Mapping[str, Any] | None) -> Iterator[None]:
        """The same step by step, for those who do something else in between."""
        if saved is None:
            self.learner.lenses.begin(self.session)
        else:
            self.session.network.load_state_dict(saved["network"])
            self.learner.lenses.load(saved["lenses"], self.session.pool.device)
            self.position = Position(*saved["position"])
            self.skipped, self._cut = saved.get("skipped", 0), saved.get("losses")
            if saved["chosen"]:
                self.chosen = self.session.pool.images.load(saved["chosen"])
        stages = self.learner.experiment.method.stages(self.session)
        for number, stage in enumerate(stages):
            if number >= self.position.stage:
                yield from self._stage(number, stage, saved)
                saved = None

    def _stage(self, number: int, stage: Stage, saved: Mapping[str, Any] | None) -> Iterator[None]:
        pool = self._pool(stage)
        step = Step(self.learner, self.session, stage)
        if saved is None:
            self.position = Position(stage=number)
        else:
            step.load(saved["optimiser"])
        for number_of_epoch in range(self.position.epoch, stage.epochs):
            step.set_rate(stage.training.rate_at(number_of_epoch, stage.epochs))
            yield from self._descend(self._epoch(stage, number_of_epoch, pool), stage, step)
            self.position = Position(number, number_of_epoch + 1)

    def _pool(self, stage: Stage) -> Pool:
        if not stage.on_exemplars:
            return self.session.pool
        if self.chosen is None:
            self.chosen = self.learner.experiment.method.remember(self.session)
        return self.learner.pool(self.chosen)

    def _epoch(self, stage: Stage, number: int, pool: Pool) -> Epoch:
        assert stage.training.batch is not None
        return Epoch(
            pool=pool,
            members=stage.members(self.session, pool),
            batch_size=stage.training.batch,
            seed=self.session.seed,
            purpose=(self.session.increment, stage.name, number),
            is_main=stage.is_main,
            varies_images=stage.varies_images,
            is_shared=True,
        )

    def _descend(self, epoch: Epoch, stage: Stage, step: Step) -> Iterator[None]:
        started = time.monotonic()
        losses = self._losses(epoch)
        if self.position.batch == 0:
            self.learner.lenses.begin_epoch(epoch, self.session)
        _set_mode(self.session.network, stage.freezes_statistics)
        for batch in epoch.batches(self.position.batch):
            torch.manual_seed(seeds.derived(epoch.seed, *epoch.purpose, self.position.batch))
            losses.take(self.position.batch, step(batch))
            if losses.values.device.type == "cpu":  # a GPU would have to be waited for
                losses.check()
            self.position.batch += 1
            self.course.progress.stepped()
            self.course.keeper.step_done(lambda: self._state(step, losses))
            yield
        self._check(losses)
        skipped = losses.skipped()
        self.skipped += len(skipped)
        self.course.diary.log(
            "epoch",
            increment=self.session.increment,
            stage=stage.name,
            epoch=epoch.purpose[-1],
            loss=losses.mean(),
            rate=stage.training.rate_at(int(epoch.purpose[-1]), stage.epochs),
            seconds=round(time.monotonic() - started, 3),
            **({"skipped": skipped} if skipped else {}),
        )

    def _check(self, losses: Losses) -> None:
        losses.check()
        losses.check_weights(self.session.network)

    def _losses(self, epoch: Epoch) -> Losses:
        """Those of an epoch, as far as it got before it was cut."""
        values, self._cut = self._cut, None
        if values is None:
            values = torch.zeros(len(epoch))
        may_skip = self.session.training.on_nan == "skip"
        rate = self.session.training.rate
        return Losses(values.to(epoch.pool.device), epoch.purpose, rate, may_skip)

    def _state(self, step: Step, losses: Losses) -> dict[str, Any]:
        self._check(losses)
        return {
            "increment": self.session.increment,
            "position": dataclasses.astuple(self.position),
            "losses": losses.values,
            "skipped": self.skipped,
            "chosen": self.chosen.state() if self.chosen is not None else None,
            "network": self.session.network.state_dict(),
            "optimiser": step.optimiser.state_dict(),
            "lenses": self.learner.lenses.state(),
        }


def _set_mode(network: Network, freezes_statistics: bool) -> None:
    network.train()
    if freezes_statistics:
        for module in network.modules():
            if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
                module.eval()
