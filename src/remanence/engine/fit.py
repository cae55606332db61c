"""The gradient descent of one session; it can be cut after any step and gone on with."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from remanence.core import seeds
from remanence.core.errors import RemanenceError
from remanence.core.progress import Progress
from remanence.engine.diary import Diary
from remanence.engine.keeper import Keeper
from remanence.engine.learner import Learner
from remanence.loader import Batch, Epoch
from remanence.methods.base import Method, Stage
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


class Fit:
    """Runs the stages of a session, from the start or from where a saved one stood."""

    def __init__(self, learner: Learner, session: Session, course: Course) -> None:
        self.method: Method = learner.experiment.method
        self.learner = learner
        self.session = session
        self.course = course
        self.position = Position()

    def run(self, saved: Mapping[str, Any] | None) -> None:
        """Train through all stages; `saved` is what an earlier, cut run of this session left."""
        if saved is None:
            self.learner.lenses.begin(self.session)
        else:
            self.session.network.load_state_dict(saved["network"])
            self.learner.lenses.load(saved["lenses"], self.session.pool.device)
            self.position = Position(*saved["position"])
        for number, stage in enumerate(self.method.stages(self.session)):
            if number >= self.position.stage:
                self._run_stage(number, stage, saved)
                saved = None

    def _run_stage(self, number: int, stage: Stage, saved: Mapping[str, Any] | None) -> None:
        optimiser = torch.optim.SGD(
            stage.trained(self.session.network),
            lr=stage.training.rate_at(0, stage.epochs),
            momentum=stage.training.momentum or 0.0,
            weight_decay=stage.training.weight_decay or 0.0,
        )
        if saved is None:
            self.position = Position(stage=number)
            members = stage.members(self.session)
        else:
            optimiser.load_state_dict(_with_int_keys(saved["optimiser"]))
            members = saved["members"].to(self.session.pool.device)
        for number_of_epoch in range(self.position.epoch, stage.epochs):
            for group in optimiser.param_groups:
                group["lr"] = stage.training.rate_at(number_of_epoch, stage.epochs)
            self._run_epoch(self._epoch(stage, number_of_epoch, members), stage, optimiser)
            self.position = Position(number, number_of_epoch + 1)

    def _epoch(self, stage: Stage, number: int, members: Tensor) -> Epoch:
        assert stage.training.batch is not None
        return Epoch(
            pool=self.session.pool,
            members=members,
            batch_size=stage.training.batch,
            seed=self.session.seed,
            purpose=(self.session.increment, stage.name, number),
            is_main=stage.is_main,
        )

    def _run_epoch(self, epoch: Epoch, stage: Stage, optimiser: torch.optim.SGD) -> None:
        started, total = time.monotonic(), torch.zeros((), device=epoch.pool.device)
        if self.position.batch == 0:
            self.learner.lenses.begin_epoch(epoch, self.session)
        _set_mode(self.session.network, stage.freezes_statistics)
        first = self.position.batch
        for batch in epoch.batches(first):
            torch.manual_seed(seeds.derived(epoch.seed, *epoch.purpose, self.position.batch))
            total += self._step(batch, optimiser)
            self.position.batch += 1
            self.course.progress.stepped()
            self.course.keeper.step_done(lambda: self._state(optimiser, epoch.members))
        self.course.diary.log(
            "epoch",
            increment=self.session.increment,
            stage=stage.name,
            epoch=epoch.purpose[-1],
            loss=round(float(total) / max(1, len(epoch) - first), 5),
            rate=optimiser.param_groups[0]["lr"],
            seconds=round(time.monotonic() - started, 3),
        )

    def _step(self, batch: Batch, optimiser: torch.optim.SGD) -> Tensor:
        """One step of gradient descent: the whole of how effects and methods meet."""
        session, lenses = self.session, self.learner.lenses
        lenses.before(batch, session)
        out = session.network(batch.images)
        losses = self.method.classify(out, batch.labels, session)
        loss = lenses.classification(losses, batch, session).mean()
        if session.teacher is not None:
            with torch.no_grad():
                old = session.teacher(batch.images)
            preserved = self.method.preserve(out, old, batch, session)
            loss = self.method.classification_weight * loss + sum(preserved.values())
        self._check_finite(loss, batch)
        session.network.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        lenses.watch(out, batch, session)
        return loss.detach()

    def _check_finite(self, loss: Tensor, batch: Batch) -> None:
        if not torch.isfinite(loss):
            _, stage, epoch = batch.epoch.purpose
            raise RemanenceError(
                f"the loss is {loss.item()} in increment {self.session.increment}, stage {stage}, "
                f"epoch {epoch}, batch {self.position.batch}: lower training.rate "
                f"(now {self.session.training.rate}); the last good checkpoint is kept"
            )

    def _state(self, optimiser: torch.optim.SGD, members: Tensor) -> dict[str, Any]:
        return {
            "increment": self.session.increment,
            "position": dataclasses.astuple(self.position),
            "members": members,
            "network": self.session.network.state_dict(),
            "optimiser": optimiser.state_dict(),
            "lenses": self.learner.lenses.state(),
        }


def _set_mode(network: Network, freezes_statistics: bool) -> None:
    network.train()
    if freezes_statistics:
        for module in network.modules():
            if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
                module.eval()


def _with_int_keys(state: Mapping[str, Any]) -> dict[str, Any]:
    """JSON made text of the optimiser's parameter numbers."""
    return {**state, "state": {int(key): value for key, value in state["state"].items()}}
