"""A reading of a run's network, to be exported."""

from __future__ import annotations

import copy
from functools import reduce
from pathlib import Path

import torch
from torch import Tensor

from remanence.core.errors import SettingsError
from remanence.core.settings import encode, nearest
from remanence.data.base import Images
from remanence.engine.learner import Learner
from remanence.engine.reopen import Reopened, reopen
from remanence.exporting.affine import Affine, affine
from remanence.exporting.subject import Subject, spread
from remanence.kernels.norm import fuse
from remanence.loader import Pool
from remanence.model.classifier import Classifier
from remanence.network import Output


def of_run(folder: Path, reading: str | None = None) -> Subject:
    """What a reading of a run says; the first one unless another is named."""
    run = reopen(folder)
    learner, tests = run.learner, reduce(Images.joined, (one.test for one in run.finished))
    learner.network.precision = "float32"  # as the file will compute
    name = _reading(run, reading)
    matrix = _matrix(learner, name)
    names = tuple(each for one in run.finished for each in one.names)
    _, height, width = shape = (tests.shape[0], tests.shape[1], tests.shape[2])
    pool = learner.pool(tests)
    (real,) = pool.seen([torch.tensor(spread(len(tests)))])
    return Subject(
        network=_classifier(learner, pool, matrix),
        eager=lambda pixels: _eager(learner, pixels, name),
        backbone=encode(learner.experiment.backbone),
        names=names,
        shape=shape,
        shown={"resize": f"the data's own {height} x {width} pixels"},
        source={"run": folder.resolve().name, "reading": name, "increments": len(run.finished)},
        real=real.cpu(),
    )


def _reading(run: Reopened, wanted: str | None) -> str:
    """The name of a reading that there is, and that has something to say."""
    lenses = run.learner.lenses.readings
    name = wanted or next(iter(lenses))
    if name not in lenses:
        raise SettingsError(f"{run.folder} has no reading '{name}'{nearest(name, lenses)}")
    if not all(lens.ready for lens in lenses[name]):
        raise SettingsError(f"the reading '{name}' of {run.folder} has nothing to predict with")
    return name


def _matrix(learner: Learner, name: str) -> Affine:
    """What a reading says, as a matrix of features."""
    found = _affine(learner, name)
    if found is None:
        others = [
            one
            for one, chain in learner.lenses.readings.items()
            if all(lens.ready for lens in chain) and _affine(learner, one) is not None
        ]
        instead = f"choose --reading {' or '.join(others)}" if others else "nor is any other"
        raise SettingsError(
            f"the reading '{name}' cannot be exported, since what it says is no matrix of the "
            f"features: {instead}"
        )
    return found


def _affine(learner: Learner, name: str) -> Affine | None:
    trunk = learner.network.trunk
    return affine(lambda features: _said(learner, features, name), trunk.width, learner.device)


def _said(learner: Learner, features: Tensor, name: str) -> Tensor:
    """The logits of a reading, given features."""
    head = learner.network.head
    with torch.no_grad():
        verdict = head(features)
        out = Output(features, verdict.logits, verdict.scores)
        return learner.lenses.read(out, head)[name].logits


def _eager(learner: Learner, pixels: Tensor, name: str) -> Tensor:
    """The logits of a reading, given pixels."""
    pool = learner.pool(Images(pixels, torch.zeros(len(pixels), dtype=torch.int64)))
    out = pool.outputs(learner.network, pool.everything)
    with torch.no_grad():
        return learner.lenses.read(out, learner.network.head)[name].logits.cpu()


def _classifier(learner: Learner, pool: Pool, matrix: Affine) -> Classifier:
    """The network with what the reading says in one matrix."""
    trunk = copy.deepcopy(learner.network.trunk)
    fuse(trunk, False)
    made = Classifier(trunk, pool.augmentation, matrix.transform, len(matrix.bias))
    if pool.augmentation.subtracts_mean_image:
        made.mean = pool.mean_image
    made.weight, made.bias = matrix.weight, matrix.bias
    return made.cpu().eval().requires_grad_(False)
