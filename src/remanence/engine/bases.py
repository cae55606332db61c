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
from remanence.engine.learner import Learner
from remanence.experiment import Experiment, said
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

    def take(self, network: Network) -> int | None:
        """Put the shared weights into the network; None where nobody has trained them yet.

        How many batches were skipped when they were trained.
        """
        if not self._usable or not self._file.exists():
            return None
        kept = archive.load(self._file)
        network.load_state_dict(kept["network"])
        return int(kept.get("skipped", 0))

    def give(self, network: Network, skipped: int) -> None:
        """Leave the trained weights for other runs."""
        if self._usable and ranks.is_first():
            archive.save(self._file, {"network": network.state_dict(), "skipped": skipped})


def shareable(experiment: Experiment) -> bool:
    """Whether the base increment is what other experiments could have trained too."""
    return not any(effect.shapes_base for effect in experiment.effects)


def chosen_signature(experiment: Experiment, base_classes: int) -> dict[str, Any]:
    """All that is chosen and shapes the base increment, but the data and what arrives of them."""
    tree = said(experiment.tree())
    training = dict(tree["training"])
    training["epochs"] = training.pop("base_epochs")
    method = experiment.method.base_signature()
    if experiment.method.keep_shapes_base:
        method = method | {"keep": experiment.memory.share(base_classes)}
    return {
        "backbone": tree["backbone"],
        "method": method,
        "training": training,
        "machine": tree["machine"],
        "seed": experiment.seed,
    }


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
