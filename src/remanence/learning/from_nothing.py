"""A trunk that is not pretrained learns from the first lesson, by the engine of all runs.

It is cut and gone on with as any run is; when it is done, its folder is of no more use.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from remanence.augment import augmentation
from remanence.core.progress import Progress
from remanence.data.base import Splits
from remanence.engine.diary import LEARNER, read_checkpoint
from remanence.engine.run import Place, run
from remanence.experiment import Experiment
from remanence.learning.pupil import Pupil
from remanence.learning.wishes import Wishes
from remanence.photographs.collection import Photographs

FOLDER = "training"
VIEWS = 30_000  # images that it sees in all: minutes on two cores at the side that is usual here
FEWEST, MOST = 10, 100  # epochs
TRUNK = "trunk."
IN_MEMORY = "imnet_shifted"  # how images that were never photographs are varied


def trained(pupil: Pupil, splits: Splits, wishes: Wishes, model: Path, progress: Progress) -> Pupil:
    """The pupil with a trunk that has learned to tell these classes apart."""
    experiment = _experiment(pupil, splits, wishes)
    key = json.dumps([experiment.tree(), splits.fingerprint], sort_keys=True)
    place = model / FOLDER / hashlib.blake2b(key.encode(), digest_size=10).hexdigest()
    run(experiment, Place(place), progress, splits)
    state = read_checkpoint(place / LEARNER, "network")["network"]
    weights = {n.removeprefix(TRUNK): w for n, w in state.items() if n.startswith(TRUNK)}
    pupil.trunk.load_state_dict(weights)
    return pupil


def forget(model: Path) -> None:
    """Delete what training has left: the model has it."""
    shutil.rmtree(model / FOLDER, ignore_errors=True)


def shifts(pupil: Pupil) -> bool:
    """Whether the network sees images that are shifted; if not, they must be cropped."""
    return augmentation(IN_MEMORY).mean == pupil.preprocessing.mean


def _experiment(pupil: Pupil, splits: Splits, wishes: Wishes) -> Experiment:
    images = len(splits.train)
    epochs = wishes.epochs or min(MOST, max(FEWEST, round(VIEWS / images)))
    return Experiment.of(
        {
            "data": {"name": "folder", "size": pupil.preprocessing.side},
            "stream": {"base": len(splits.class_names)},
            "backbone": dict(pupil.backbone),
            "method": "finetune",
            "memory": {"per_class": 0},
            "training": {
                "epochs": epochs,
                "batch": 32,
                "rate": 0.05,
                "schedule": "cosine",
                "augmentation": None if isinstance(splits.train, Photographs) else IN_MEMORY,
            },
            "machine": {"precision": "float32"},
            "seed": wishes.seed,
        }
    )
