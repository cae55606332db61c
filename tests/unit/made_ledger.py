"""Entries of a ledger as runs would leave them, without a run: accuracies are chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from remanence.experiment import Experiment
from remanence.reproduce.cost import CLASSES
from remanence.reproduce.ledger import Entry
from remanence.reproduce.shape import PLACES, name_of
from remanence.stream import group_sizes

TESTED = 1000  # of each increment's classes


def entry(
    experiment: Experiment | Mapping[str, Any],
    right: Mapping[str, Sequence[Sequence[float]]] | float = 50.0,
    **otherwise: Any,
) -> Entry:
    """A finished run. `right`: percent by reading, increment and group; or the same everywhere."""
    chosen = experiment if isinstance(experiment, Experiment) else Experiment.of(experiment)
    resolved = chosen.resolved()
    sizes = group_sizes(resolved.stream, CLASSES[resolved.data.scale])
    if not isinstance(right, Mapping):
        right = {"cnn": [[right] * (t + 1) for t in range(len(sizes))]}
    config = resolved.tree()
    config["data"] = {k: v for k, v in config["data"].items() if k not in PLACES}
    training = config["training"]
    told = {
        "name": name_of(chosen),
        "config": config,
        "data": "aa",
        "order": {"name": str(config["stream"]["order"]), "hash": "bb"},
        "seed": chosen.seed,
        "epochs": {"base": training["base_epochs"], "increment": training["epochs"]},
        "made_with": {"remanence": "0", "commit": None, "torch": "2", "python": "3"},
        "machine": {"processor": "made", "precision": "float32"},
        "seconds": {"base": 60.0, "increments": 120.0},
        "groups": {"classes": sizes, "tested": [TESTED] * len(sizes)},
        "right": {
            name: [[round(TESTED * one / 100) for one in row] for row in rows]
            for name, rows in right.items()
        },
        "finished": "2026-01-01",
    }
    return Entry(**{**told, **otherwise})
