"""Small made images, pools, networks and sessions, and a learner of them."""

import copy
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hypothesis
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from remanence.augment import Augmentation
from remanence.backbones.convnet import Convnet
from remanence.core.progress import Progress
from remanence.data.base import Images
from remanence.engine.diary import Diary
from remanence.engine.fit import Course, Fit
from remanence.engine.keeper import Keeper
from remanence.engine.learner import Learner
from remanence.experiment import Experiment
from remanence.heads import CosineHead, Head
from remanence.loader import Epoch, Pool
from remanence.network import Network
from remanence.schedule import Training
from remanence.session import Session
from remanence.stream import Increment

CPU = torch.device("cpu")
MOVING = Augmentation(mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.25), pad=2)
STILL = dataclasses.replace(MOVING, pad=0, mirrors=False)  # training sees what prediction sees
DARKENED = torch.full((3, 8, 8), 0.25)

examples = hypothesis.settings(max_examples=30, deadline=None, database=None)


def random(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def images(labels: Sequence[int], seed: int = 0) -> Images:
    """Coloured quarters with some noise, 3 x 8 x 8."""
    quarters = torch.rand(len(labels), 3, 2, 2, generator=random(seed))
    noise = torch.rand(len(labels), 3, 8, 8, generator=random(seed + 1))
    mixed = 0.8 * quarters.repeat_interleave(4, 2).repeat_interleave(4, 3) + 0.2 * noise
    return Images((mixed * 255).to(torch.uint8), torch.tensor(labels, dtype=torch.int64))


def pool(new: Sequence[int], kept: Sequence[int] = (), augmentation: Augmentation = MOVING) -> Pool:
    """Images with the labels `new`, then exemplars with the labels `kept`."""
    return Pool(images([*new, *kept]), len(new), augmentation, DARKENED, CPU)


def network(*groups: int, head: type[Head] = CosineHead, width: int = 8) -> Network:
    """A convnet that has seen some images, with rows for groups of classes."""
    torch.manual_seed(len(groups))
    made = Network(Convnet(width=width).build(3), head(width))
    for classes in groups:
        made.head.grow(made.head.fresh_rows(classes))
    for _ in range(20):
        made(torch.rand(16, 3, 8, 8) * 4 - 2)
    return made


def session(
    old: int = 3,
    new: int = 2,
    per_class: int = 6,
    kept: int = 2,
    augmentation: Augmentation = MOVING,
    head: type[Head] = CosineHead,
) -> Session:
    """In the midst of increment 1: the network has already left its teacher behind."""
    learning = network(old, head=head)
    teacher = learning.frozen()
    learning.head.grow(learning.head.fresh_rows(new))
    with torch.no_grad():
        for parameter in learning.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=random(3)))
        if isinstance(learning.head, CosineHead):
            learning.head.scale.fill_(4.0)
    of_new = [label for label in range(old, old + new) for _ in range(per_class)]
    of_old = [label for label in range(old) for _ in range(kept)]
    return Session(
        increment=1,
        old_classes=old,
        classes=old + new,
        network=learning,
        teacher=teacher,
        pool=pool(of_new, of_old, augmentation),
        keep=kept,
        training=Training.steps(1, (0.5,), weight_decay=5e-4, batch=5),
        seed=7,
    )


def epoch(of: Pool, number: int = 0, is_main: bool = True, batch_size: int = 5) -> Epoch:
    return Epoch(of, of.everything, batch_size, 7, (1, "main", number), is_main)


def learner(*trees: dict[str, Any]) -> Learner:
    """LUCIR with a small convnet, in colour; `trees` say what is otherwise."""
    usual = {
        "method": {"name": "lucir", "less_forget": 5.0},
        "backbone": {"name": "convnet", "width": 8},
        "memory": {"per_class": 2},
        "training": {"epochs": 2, "batch": 8, "augmentation": "cifar_lucir"},
    }
    experiment = Experiment.of(usual, *trees).resolved()
    return Learner(experiment, images([0]), DARKENED, CPU)


def increment(number: int, first: int, classes: int, per_class: int = 6) -> Increment:
    """Made images of the classes from `first` up to `classes`."""
    labels = [label for label in range(first, classes) for _ in range(per_class)]
    train, test = images(labels, 10 + number), images(labels, 20 + number)
    names = tuple(f"class {label}" for label in range(first, classes))
    return Increment(number, first, classes, names, train, test)


def fit(learning: Learner, of: Session, folder: Path) -> list[dict[str, Any]]:
    """Train one session; position and weights after every step."""
    states: list[dict[str, Any]] = []

    def save(state: Any) -> None:
        states.append(copy.deepcopy({key: state[key] for key in ("position", "network")}))

    course = Course(Diary(folder, *[learning.experiment] * 2), Keeper(save, 0.0), Progress())
    Fit(learning, of, course).run(None)
    return states


class LargestTensor(TorchDispatchMode):
    """Remembers the bytes of the largest tensor that any operation returned."""

    nbytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        returned = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(returned):
            if isinstance(leaf, Tensor):
                self.nbytes = max(self.nbytes, leaf.untyped_storage().nbytes())
        return returned
