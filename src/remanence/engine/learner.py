"""All that is learned: the network, the lenses and the exemplars."""

from __future__ import annotations

from typing import Any

import torch

from remanence.augment import augmentation
from remanence.core import seeds
from remanence.core.errors import FolderError, SettingsError
from remanence.data.base import Images
from remanence.engine.readings import Lenses
from remanence.experiment import Experiment
from remanence.loader import Pool
from remanence.network import Network
from remanence.session import Session
from remanence.stream import Increment


class Learner:
    """Meets increments, hands out sessions, and remembers."""

    def __init__(
        self, experiment: Experiment, like: Images, mean_image: torch.Tensor, device: torch.device
    ) -> None:
        assert experiment.backbone is not None and experiment.training.augmentation is not None
        torch.manual_seed(seeds.derived(experiment.seed, "weights"))
        trunk = experiment.backbone.build(like.shape[0])
        head = experiment.method.head(trunk.width)
        self.experiment = experiment
        machine = experiment.machine
        self.network = Network(trunk, head, machine.precision, machine.kernels).to(device)
        self.lenses = Lenses(experiment)
        self.exemplars = like[torch.empty(0, dtype=torch.int64)]
        self._augmentation = augmentation(experiment.training.augmentation)
        self._mean_image = mean_image
        self.device = device

    def meet(self, increment: Increment) -> Session:
        """Let the head grow by the increment's classes, and open its session."""
        known = self.network.head.classes
        if increment.first_class != known:
            raise SettingsError(
                f"increment {increment.number} starts at class {increment.first_class}, "
                f"but {known} classes are known: a class can be met once, in order"
            )
        teacher = self.network.frozen() if known else None
        if known:
            self.network.trunk.after_base()
        pool = self.pool(increment.train.joined(self.exemplars), len(increment.train))
        torch.manual_seed(seeds.derived(self.experiment.seed, increment.number, "rows"))
        classes = range(known, increment.classes)
        rows = self.experiment.method.rows(self.network, pool, classes)
        self.network.head.grow(rows.to(self.device))
        return Session(
            increment=increment.number,
            old_classes=known,
            classes=increment.classes,
            network=self.network,
            teacher=teacher,
            pool=pool,
            keep=self.experiment.memory.share(increment.classes),
            probabilities=self.experiment.method.probabilities,
            visits=self.experiment.method.visits,
            training=self.experiment.training,
            seed=self.experiment.seed,
        )

    def pool(self, images: Images, new_count: int = 0) -> Pool:
        """Images ready to be batched as this learner sees them."""
        return Pool(images, new_count, self._augmentation, self._mean_image, self.device)

    def close(self, session: Session, chosen: Images | None = None) -> None:
        """Keep what was chosen, or choose it now, and let the lenses settle on it."""
        method = self.experiment.method
        again = chosen is None or method.chooses_again
        self.exemplars = method.remember(session) if again or chosen is None else chosen
        self.lenses.settle(session, self.pool(self.exemplars))
        session.pool.close(self.exemplars)

    def state(self) -> dict[str, Any]:
        """All that must be saved between sessions."""
        return {
            "network": self.network.state_dict(),
            "lenses": self.lenses.state(),
            "exemplars": self.exemplars.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Continue from what was saved."""
        try:
            self.network.load_state_dict(state["network"])
            self.lenses.load(state["lenses"], self.device)
            self.exemplars = self.exemplars.load(state["exemplars"])
        except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise FolderError(
                f"what was saved is not of this network, or of another version ({error}): delete "
                "the folder of the run, or choose another one"
            ) from None
