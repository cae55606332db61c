"""An increment of the whole of ImageNet, with photographs that are made.

The album has as many names as ImageNet has files, the pool as many images as the last increment,
the head as many classes. Only what would take hours is not done: every name leads to one of a few
made files, and what the networks say of the whole pool is made up, by a stand-in, at its full size.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from remanence.bench.shared.jpegs import made_jpegs
from remanence.engine.learner import Learner
from remanence.engine.step import Step
from remanence.engine.tuning import tuned
from remanence.experiment import Experiment
from remanence.loader import Epoch, Pool
from remanence.network import Network, Output
from remanence.photographs.album import Album
from remanence.photographs.collection import Photographs
from remanence.photographs.decode import square
from remanence.session import Session

FILES_MADE = 32


@dataclass(frozen=True)
class Increment:
    """Its counts; those of the last of LUCIR's five increments of a hundred classes."""

    files: int = 1_281_167 + 50_000
    new: int = 128_117
    classes: int = 1_000
    new_classes: int = 100
    kept: int = 20
    neighbours: int = 10
    candidates: int = 10_000  # as the official code has it; the tile is calculated for all
    batch: int = 128
    side: int = 224

    @property
    def old_classes(self) -> int:
        """Classes that came before."""
        return self.classes - self.new_classes

    @property
    def pool(self) -> int:
        """New images and exemplars."""
        return self.new + self.kept * self.old_classes


class _MadeAlbum(Album):
    def _shown(self, place: int, chance: int | None) -> NDArray[np.uint8]:
        return square(self.folder / f"{place % FILES_MADE:05}.jpg", self.side, chance)


class _MadePool(Pool):
    """Views that nobody looks at are not decoded."""

    def test_views(self, parts: Sequence[Tensor], mirrored: bool = False) -> Iterator[Tensor]:
        yield from (torch.empty(len(part), 1, device=self.device) for part in parts)


class _StandIn(nn.Module):
    """Says something of every image, at once."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.width, self.classes = width, classes

    def forward(self, images: Tensor) -> Output:
        features = torch.randn(len(images), self.width, device=images.device)
        logits = torch.randn(len(images), self.classes, device=images.device)
        return Output(features, logits, logits)


def prepared(size: Increment, device: torch.device, steps: int, folder: Path) -> None:
    """Begin the increment with LUCIR+DDE, and take some steps of it."""
    try:
        made_jpegs(folder, FILES_MADE)
        learner, session = _session(size, device, folder)
        standin = cast(Network, _StandIn(learner.network.head.width, size.classes))
        learner.lenses.begin(dataclasses.replace(session, network=standin, teacher=standin))
        stage = learner.experiment.method.stages(session)[0]
        step = Step(learner, session, stage)
        epoch = Epoch(session.pool, session.pool.everything, size.batch, 0, (5, "main", 0), True)
        session.network.train()
        for _, batch in zip(range(steps), epoch.batches(), strict=False):
            step(batch)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _session(size: Increment, device: torch.device, folder: Path) -> tuple[Learner, Session]:
    experiment = _experiment(size, device)
    images = _images(size, folder)
    learner = Learner(experiment, images, images.mean_image(), device)
    network = learner.network
    network.head.grow(network.head.fresh_rows(size.old_classes).to(device))
    teacher = network.frozen()
    network.head.grow(network.head.fresh_rows(size.new_classes).to(device))
    plain = learner.pool(images, size.new)
    pool = _MadePool(
        **{field.name: getattr(plain, field.name) for field in dataclasses.fields(plain)}
    )
    return learner, Session(
        increment=5,
        old_classes=size.old_classes,
        classes=size.classes,
        network=network,
        teacher=teacher,
        pool=pool,
        keep=size.kept,
        training=experiment.training,
        seed=0,
    )


def _experiment(size: Increment, device: torch.device) -> Experiment:
    colliding = {"neighbours": size.neighbours, "candidate_limit": size.candidates}
    experiment = Experiment.of(
        {
            "data": {"name": "imagenet", "size": size.side},
            "method": "lucir",
            "effects": {"colliding": colliding, "momentum": {}},
            "training": {"batch": size.batch},
            "machine": {"device": device.type},
        }
    ).resolved()
    return tuned(experiment, (3, size.side, size.side), device)


def _images(size: Increment, folder: Path) -> Photographs:
    """The pool: new images, then exemplars, of an album of all files."""
    names = [
        f"train/n{number % 1000:08}/n{number % 1000:08}_{number}.JPEG"
        for number in range(size.files)
    ]
    album = _MadeAlbum(
        folder,
        np.array(names, dtype=np.object_),
        np.full(size.files, 110_000, dtype=np.int64),
        size.side,
        workers=torch.get_num_threads(),
    )
    new = size.old_classes + torch.arange(size.new) % size.new_classes
    old = torch.arange(size.old_classes).repeat_interleave(size.kept)
    return Photographs(album, torch.arange(size.pool), torch.cat([new, old]))
