"""Base increments shared by runs that agree on everything that shapes them."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from remanence.core import archive, files, ranks
from remanence.core.machine import Machine
from remanence.core.settings import encode
from remanence.engine.learner import Learner
from remanence.experiment import Experiment
from remanence.network import Network
from remanence.stream import Increment

FORMAT = 1


class SharedBase:
    """The trained base network of one experiment, in a store that many runs look into."""

    def __init__(self, store: Path, learner: Learner, base: Increment, data: str) -> None:
        experiment = learner.experiment
        key = json.dumps(_signature(learner, base, data), sort_keys=True)
        digest = hashlib.blake2b(key.encode(), digest_size=10).hexdigest()
        self._file = store / f"{digest}.safetensors"
        self._usable = shareable(experiment)

    @contextlib.contextmanager
    def reserved(self, while_waiting: Callable[[], None]) -> Iterator[None]:
        """While one process looks for the base and trains it, others that want it wait here."""
        with contextlib.ExitStack() as held:
            if ranks.is_first() and self._usable and not self._file.exists():
                files.make_folder(self._file.parent)
                held.enter_context(files.reserved(self._file, while_waiting))
            ranks.wait()
            yield
            ranks.wait()

    def take(self, network: Network) -> bool:
        """Put the shared weights into the network; False where nobody has trained them yet."""
        if not self._usable or not self._file.exists():
            return False
        network.load_state_dict(archive.load(self._file)["network"])
        return True

    def give(self, network: Network) -> None:
        """Leave the trained weights for other runs."""
        if self._usable and ranks.is_first():
            archive.save(self._file, {"network": network.state_dict()})


def shareable(experiment: Experiment) -> bool:
    """Whether the base increment is what other experiments could have trained too."""
    return not any(effect.shapes_base for effect in experiment.effects)


def chosen_signature(experiment: Experiment, base_classes: int) -> dict[str, Any]:
    """All that is chosen and shapes the base increment, but the data and what arrives of them."""
    training = encode(experiment.training)
    training["epochs"] = training.pop("base_epochs")
    method = experiment.method.base_signature()
    if experiment.method.keep_shapes_base:
        method = method | {"keep": experiment.memory.share(base_classes)}
    return {
        "backbone": encode(experiment.backbone),
        "method": method,
        "training": training,
        "machine": _told(experiment.machine),
        "seed": experiment.seed,
    }


def _told(machine: Machine) -> dict[str, Any]:
    """What a base was computed on; what goes without saying is what there was first."""
    told: dict[str, Any] = encode(machine)
    unsaid = {"kernels": "plain", "ranks": 1}
    return {key: value for key, value in told.items() if unsaid.get(key) != value}


def _signature(learner: Learner, base: Increment, data: str) -> dict[str, object]:
    chosen = chosen_signature(learner.experiment, base.classes)
    device = str(next(learner.network.parameters()).device)
    return chosen | {
        "format": FORMAT,
        "data": data,
        "classes": base.names,
        "labels": hashlib.sha256(base.train.labels.numpy().tobytes()).hexdigest(),
        "machine": chosen["machine"] | {"device": device},
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
