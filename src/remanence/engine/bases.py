"""Base increments shared by runs that agree on everything that shapes them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import torch

from remanence.core import archive, files
from remanence.core.settings import encode
from remanence.engine.learner import Learner
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
        self._usable = not any(effect.shapes_base for effect in experiment.effects)

    def take(self, network: Network) -> bool:
        """Put the shared weights into the network; False where nobody has trained them yet."""
        if not self._usable or not self._file.exists():
            return False
        network.load_state_dict(archive.load(self._file)["network"])
        return True

    def give(self, network: Network) -> None:
        """Leave the trained weights for other runs."""
        if self._usable:
            files.make_folder(self._file.parent)
            archive.save(self._file, {"network": network.state_dict()})


def _signature(learner: Learner, base: Increment, data: str) -> dict[str, object]:
    experiment, network = learner.experiment, learner.network
    training = encode(experiment.training)
    training["epochs"] = training.pop("base_epochs")
    keep = experiment.memory.share(base.classes) if experiment.method.keep_shapes_base else None
    return {
        "format": FORMAT,
        "data": data,
        "classes": base.names,
        "labels": hashlib.sha256(base.train.labels.numpy().tobytes()).hexdigest(),
        "backbone": encode(experiment.backbone),
        "method": experiment.method.base_signature() | ({} if keep is None else {"keep": keep}),
        "training": training,
        "machine": encode(experiment.machine) | {"device": str(next(network.parameters()).device)},
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "seed": experiment.seed,
    }
