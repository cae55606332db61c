"""A run that stands still, opened again to see what it has learned."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import torch

from remanence.core.errors import FolderError
from remanence.data.base import Splits
from remanence.engine.diary import BEFORE, LEARNER, check_same_data, read_checkpoint
from remanence.engine.learner import Learner
from remanence.experiment import Experiment
from remanence.run_folder import read_experiment
from remanence.stream import Increment, Stream, make_stream


@dataclass(frozen=True)
class Reopened:
    """A run folder with its data.

    learner: as it was after the last finished increment.
    """

    folder: Path
    experiment: Experiment
    splits: Splits
    stream: Stream
    learner: Learner

    @property
    def finished(self) -> tuple[Increment, ...]:
        """The increments that are learned, one at least."""
        known = self.learner.network.head.classes
        return tuple(one for one in self.stream.increments if one.classes <= known)

    def earlier(self) -> Learner:
        """The learner before the last of them."""
        return _loaded(self.folder / BEFORE, self.experiment, self.splits, self.learner.device)


def reopen(folder: Path) -> Reopened:
    """Everything that a run needs to be looked at, on the machine at hand."""
    experiment = Experiment.of(read_experiment(folder)["resolved"])
    if not (folder / LEARNER).exists():
        raise FolderError(f"{folder} has no checkpoint")
    here = dataclasses.replace(experiment.machine, device="auto", threads=None)
    device = here.prepare()
    if device.type == "cpu":
        here = dataclasses.replace(here, precision="float32")
    experiment = dataclasses.replace(experiment, machine=here)
    splits = experiment.data.load()
    check_same_data(folder, splits)
    stream = make_stream(splits, experiment.resolved().stream)
    learner = _loaded(folder / LEARNER, experiment, splits, device)
    return Reopened(folder, experiment, splits, stream, learner)


def _loaded(
    checkpoint: Path, experiment: Experiment, splits: Splits, device: torch.device
) -> Learner:
    learner = Learner(experiment, splits.train, splits.mean_image, device)
    learner.load(read_checkpoint(checkpoint, "network", "lenses", "exemplars"))
    return learner
