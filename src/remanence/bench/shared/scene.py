"""A learner in the midst of CIFAR-100: fifty classes known, ten new ones being learned.

The base is not trained for it: batch norm has seen some images, and what weights say has no
influence on the time. Everything else is as in any run: loop, diary and checkpoints too.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from remanence.bench.base import Bench
from remanence.core.progress import Progress
from remanence.engine.diary import Diary
from remanence.engine.fit import Course, Fit
from remanence.engine.keeper import Keeper
from remanence.engine.learner import Learner
from remanence.engine.tuning import tuned
from remanence.experiment import Experiment
from remanence.memory import rank_in_class
from remanence.session import Session
from remanence.stream import Increment, make_stream

LUCIR: Mapping[str, Any] = {"data": "cifar100", "method": "lucir", "memory": {"per_class": 5}}
DDE: Mapping[str, Any] = {"effects": {"colliding": {}, "momentum": {}}}
SAVE_EVERY = 60.0  # seconds, as `remanence run` does
WARM_STEPS = 3


class Scene:
    """Sessions of one experiment on a bench; `trees` are laid over LUCIR with five exemplars."""

    def __init__(self, bench: Bench, *trees: Mapping[str, Any]) -> None:
        device = {"machine": {"device": bench.device.type}}
        experiment = Experiment.of(LUCIR, device, *trees).resolved()
        self.experiment = tuned(experiment, bench.splits.train.shape, bench.device)
        self.increments = make_stream(bench.splits, self.experiment.stream).increments
        self.learner = Learner(
            self.experiment, bench.splits.train, bench.splits.mean_image, bench.device
        )
        self.diary = Diary(
            Path(tempfile.mkdtemp(dir=bench.folder)), self.experiment, self.experiment
        )
        self._seen: list[Increment] = []

    def skip(self, increments: int) -> None:
        """Know the classes of the next ones without having learned them."""
        for increment in self.increments[len(self._seen) : len(self._seen) + increments]:
            self.learner.meet(increment)
            self._seen.append(increment)
            kept = rank_in_class(increment.train.labels) < self.experiment.memory.share(1)
            new = increment.train[kept.nonzero().flatten()]
            self.learner.exemplars = self.learner.exemplars.joined(new)
            _see(self.learner, increment)

    def session(self) -> Session:
        """Meet the next increment."""
        increment = self.increments[len(self._seen)]
        self._seen.append(increment)
        return self.learner.meet(increment)

    def known(self) -> tuple[Increment, ...]:
        """All increments that were met."""
        return tuple(self._seen)

    def running(self, before_last: bool = False) -> Running:
        """In the midst of the first increment after the base, or of the last one."""
        self.skip(len(self.increments) - 1 if before_last else 1)
        fit = Fit(self.learner, self.session(), self._course())
        return Running(fit)

    def _course(self) -> Course:
        return Course(self.diary, Keeper(self.diary.save_session, SAVE_EVERY), Progress())


class Running:
    """A session that goes on for as many steps as one wants."""

    def __init__(self, fit: Fit) -> None:
        self.fit = fit
        self._steps = fit.steps(None)
        self.advance(WARM_STEPS)

    @property
    def images(self) -> int:
        """How many are seen in an epoch."""
        return len(self.fit.session.pool)

    @property
    def epoch(self) -> int:
        """How many steps an epoch has."""
        batch = self.fit.session.training.batch
        assert batch is not None
        return -(-self.images // batch)

    def advance(self, steps: int) -> None:
        """Take so many of them, across the ends of epochs."""
        taken = sum(1 for _ in itertools.islice(self._steps, steps))
        assert taken == steps, "the session is over"


def _see(learner: Learner, increment: Increment) -> None:
    """Batch norm gets statistics that are not those of a fresh network."""
    pool, network = learner.pool(increment.train), learner.network.train()
    with torch.no_grad():
        for part in pool.everything[:640].split(128):
            network(pool.test_view(part))
