"""Remanence: class-incremental learning in which the effect of the old data stays.

The names below are imported when they are first used, so that `remanence --help` needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remanence.engine.run import Place, run
    from remanence.estimator import ImageClassifier
    from remanence.experiment import Experiment
    from remanence.learning import Wishes, learn
    from remanence.metrics import readings, summarise
    from remanence.predictor import Prediction, Predictor, load
    from remanence.records import Record, read_records

_HOMES = {
    "Experiment": "remanence.experiment",
    "ImageClassifier": "remanence.estimator",
    "Place": "remanence.engine.run",
    "Prediction": "remanence.predictor",
    "Predictor": "remanence.predictor",
    "Record": "remanence.records",
    "Wishes": "remanence.learning",
    "learn": "remanence.learning",
    "load": "remanence.predictor",
    "read_records": "remanence.records",
    "readings": "remanence.metrics",
    "run": "remanence.engine.run",
    "summarise": "remanence.metrics",
}

__all__ = [
    "Experiment",
    "ImageClassifier",
    "Place",
    "Prediction",
    "Predictor",
    "Record",
    "Wishes",
    "learn",
    "load",
    "read_records",
    "readings",
    "run",
    "summarise",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"remanence has no '{name}'; it has {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)
