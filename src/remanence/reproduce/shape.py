"""What shapes a result: two runs that agree on it are the same run, wherever they were made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from remanence.experiment import Experiment, said

PLACES = ("folder", "truth", "workers")  # of the data: where they are, and how they are read


@dataclass(frozen=True, order=True)
class Variant:
    """How long was learned, and in which class order: the same for all seeds of one figure."""

    base_epochs: int
    epochs: int
    order: str


@dataclass(frozen=True)
class Shape:
    """What is trained, apart from the variant and the seed; and the effects it is read through."""

    training: str
    reading: Mapping[str, Any]
    variant: Variant
    seed: int

    def gives(self, other: Shape, reading: str) -> bool:
        """Whether this training can stand for another as far as one reading is concerned."""
        through = [part.partition(".")[0] for part in reading.split("+")[1:]]
        same = all(self.reading.get(name) == other.reading.get(name) for name in through)
        return self.training == other.training and same


def identity(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Of the plain values of a resolved experiment those that shape its result."""
    kept = {key: value for key, value in said(resolved).items() if key != "machine"}
    kept["data"] = {key: value for key, value in resolved["data"].items() if key not in PLACES}
    return kept


def shape(experiment: Experiment) -> Shape:
    """The shape of an experiment."""
    resolved = experiment.resolved()
    tree = identity(resolved.tree())
    acting = {effect.name for effect in resolved.effects if effect.acts_in_training}
    effects = tree.pop("effects") or {}
    training = dict(tree.pop("training"))
    stream = dict(tree.pop("stream"))
    variant = Variant(training.pop("base_epochs"), training.pop("epochs"), _text(stream["order"]))
    seed = tree.pop("seed")
    tree |= {
        "training": training,
        "stream": {key: value for key, value in stream.items() if key != "order"},
        "effects": [[name, value] for name, value in effects.items() if name in acting],
    }
    seen = {name: value for name, value in effects.items() if name not in acting}
    return Shape(_text(tree), seen, variant, seed)


def name_of(experiment: Experiment, classes: str = "") -> str:
    """A name for the run and for its place in the ledger: what can be said, and a hash of all.

    classes: tells data sets apart that are described alike.
    """
    resolved = experiment.resolved()
    tree = identity(resolved.tree())
    tree["effects"] = list((tree["effects"] or {}).items())
    hashed = json.dumps([tree, classes], sort_keys=True).encode()
    stream = resolved.stream
    sizes = f"b{stream.base}-i{stream.increment}" if not stream.sizes else "sizes"
    memory = resolved.memory
    kept = f"r{memory.per_class}" if memory.total is None else f"m{memory.total}"
    weight = resolved.method.classification_weight
    weighted = "" if weight == 1 else f"-w{weight:g}"
    chain = "+".join([resolved.method.name + weighted, *(one.name for one in resolved.effects)])
    readable = f"{chain}-{resolved.data.name}-{sizes}-{kept}-s{resolved.seed}"
    return f"{readable}-{hashlib.blake2b(hashed, digest_size=4).hexdigest()}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
