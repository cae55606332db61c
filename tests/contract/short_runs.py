"""Runs of a third of a second: every method, under every chain of effects, with and without memory.

The folders are asked what there is, so that a new method or effect is tested the day it appears.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from remanence.core import choices
from remanence.core.errors import SettingsError
from remanence.core.progress import Progress
from remanence.engine.run import Place, check, run
from remanence.experiment import Experiment
from remanence.loader import Batch
from remanence.methods.base import Method
from remanence.network import Output
from remanence.records import Record
from remanence.session import Session
from remanence.stream import Stream, make_stream

KEEP = (0, 2)
SHORT = {
    "data": "digits",
    "backbone": {"name": "convnet", "width": 16},
    "stream": {"sizes": [3, 2, 2]},
    "training": {"epochs": 2, "batch": 64},
    "machine": {"device": "cpu", "precision": "float32", "threads": 1},
}
METHODS = choices.names("methods")
CHAINS = ["", *choices.names("effects"), "colliding,momentum"]
OFFICIAL = {"source": "fresh", "graph": "epoch", "batchnorm": "shared"}
THROUGH = {"source": "through", "batchnorm": "isolated", "pick": "rand", "weights": "variant2"}
GATHERING = {"base_direction": "accumulate", "through_finetune": True, "constrained": True}
AS_WRITTEN = {"nca": "paper", "spatial_form": "paper", "tuned_for": "nme", "mer": "rerun"}


@dataclass(frozen=True)
class Case:
    """One experiment, by what is chosen beside `SHORT`."""

    name: str
    chosen: str

    @staticmethod
    def of(name: str, **chosen: Any) -> Case:
        return Case(name, json.dumps(chosen))

    @property
    def experiment(self) -> Experiment:
        return Experiment.of(SHORT, json.loads(self.chosen))

    @property
    def bare(self) -> Case:
        """The same without any effect."""
        return Case.of(f"{self.name} bare", **json.loads(self.chosen) | {"effects": ""})


def case(method: str, chain: str, keep: int) -> Case:
    """A method with default settings under a chain of effects with default settings."""
    name = f"{method}-{chain or 'bare'}-r{keep}"
    return Case.of(name, method=method, effects=chain, memory={"per_class": keep})


@cache
def _stream() -> Stream:
    experiment = Experiment.of(SHORT).resolved()
    return make_stream(experiment.data.load(), experiment.stream)


def refusal(case: Case) -> str | None:
    """The line with which a case is refused before any work, if it is."""
    try:
        check(case.experiment.resolved(), _stream())
    except SettingsError as error:
        return str(error)
    return None


EVERY = [case(method, chain, keep) for method in METHODS for chain in CHAINS for keep in KEEP]
PLAIN = [one for one in EVERY if refusal(one) is None]
REFUSED = [one for one in EVERY if refusal(one) is not None]
# Every method and how much it keeps, where it works at all without effects.
WORKING = [(m, keep) for m in METHODS for keep in KEEP if refusal(case(m, "", keep)) is None]
OTHER_WAYS = [
    Case.of(
        "official",
        method="lucir",
        effects={"colliding": OFFICIAL, "momentum": {}},
        memory={"per_class": 2},
    ),
    Case.of("through", method="finetune", effects={"colliding": THROUGH}, memory={"total": 12}),
    Case.of(
        "two stages",
        method={"name": "lucir", "finetune_epochs": 2},
        effects={"colliding": {}, "momentum": GATHERING},
        memory={"per_class": 2},
    ),
    Case.of(
        "moved exemplars",
        method={
            "name": "mnemonics",
            "exemplar_rate": 0.02,
            "refines_old": True,
            "finetune_epochs": 2,
        },
        effects={"colliding": {}, "momentum": {}},
        memory={"total": 14},
    ),
    Case.of(
        "sigmoid",
        method={"name": "icarl", "form": "sigmoid"},
        effects="halved,momentum",
        memory={"total": 21},
    ),
    Case.of("corrected", method="bic", effects="colliding,momentum", memory={"total": 36}),
    Case.of(
        "podnet as written",
        method={"name": "podnet", "proxies": 3, "freeze_bn": True, **AS_WRITTEN},
        effects={"colliding": {"source": "through", "neighbours": 2}, "momentum": {}},
        memory={"per_class": 2},
        training={"epochs": 4},  # from scores as sharp as these it takes longer to be sure
    ),
]


@dataclass(frozen=True)
class Step:
    """One step of gradient descent, as a method's `preserve` sees it."""

    increment: int
    epoch: tuple[str | int, ...]
    indices: Tensor
    images: Tensor
    raw: tuple[Tensor, ...]


@dataclass(frozen=True)
class Trained:
    """A finished run: what it wrote, and each step that `preserve` was asked about."""

    folder: Path
    records: list[Record]
    steps: list[Step] = field(default_factory=list)


def watched_run(experiment: Experiment, folder: Path) -> Trained:
    """Run, and note what `preserve` gets at every step."""
    steps: list[Step] = []
    preserve = type(experiment.method).preserve

    def noted(
        method: Method, out: Output, old: Output, batch: Batch, session: Session
    ) -> dict[str, Tensor]:
        raw = tuple(part.detach().clone() for each in (out, old) for part in _parts(each))
        where = (session.increment, batch.epoch.purpose)
        steps.append(Step(*where, batch.indices.clone(), batch.images.clone(), raw))
        return preserve(method, out, old, batch, session)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(experiment.method), "preserve", noted)
        return Trained(folder, run(experiment, Place(folder)), steps)


def _parts(out: Output) -> list[Tensor]:
    return [out.features, out.logits, out.scores, *out.maps]


class Cut(Exception):
    """The run ends here, as if its process had been killed."""


class CutAt(Progress):
    """Cuts a run after so many steps of one increment; the step that comes then is not saved.

    A run that goes on inside the increment has only the steps since then to count.
    """

    def __init__(self, increment: int, step: int) -> None:
        self._increment = f"increment {increment}/"
        self._left = step
        self._is_there = False

    def doing(self, what: str) -> None:
        self._is_there = what.startswith(self._increment)

    def stepped(self, steps: int = 1) -> None:
        self._left -= steps if self._is_there else 0
        if self._left < 0:
            raise Cut


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a run folder but the log, which has times in it."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != "log.jsonl"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(files)}
