"""The peak of memory of a short run of each method, and of the shared parts of all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from remanence.bench.base import Bench, Benchmark, Row, Spread
from remanence.bench.shared.apart import peak_of
from remanence.bench.shared.material import made_splits
from remanence.core import choices
from remanence.core.settings import settings
from remanence.engine.run import run
from remanence.experiment import Experiment

GIGABYTE = 1e9
COURSE: Mapping[str, Any] = {
    "data": "cifar100",
    "stream": {"order": "natural", "sizes": [10, 10]},
    "memory": {"per_class": 10},
    "training": {"epochs": 1},
}
BRIEF: Mapping[str, Mapping[str, Any]] = {  # stages that would only take longer, not more
    "mnemonics": {"exemplar_epochs": 1, "finetune_epochs": 1},
    "podnet": {"finetune_epochs": 1},
}
KEPT: Mapping[str, Mapping[str, int]] = {"lwf": {"per_class": 0}}
EFFECTS = "colliding,momentum"


@settings
class Memory(Benchmark):
    """Made images of CIFAR-100's sizes: ten classes of fifty, then ten more; batches of 128."""

    def rows(self, bench: Bench) -> Iterator[Row]:
        names = ["lucir"] if bench.quick else choices.names("methods")
        for name, effects in [*((name, "") for name in names), ("lucir", EFFECTS)]:
            peak = peak_of(_prepared, _tree(bench, name, effects))
            what = f"{name} + {effects}" if effects else name
            yield Row(what, Spread.of([peak.extra / GIGABYTE]), "GB", note=_note(peak.before))


def _tree(bench: Bench, method: str, effects: str) -> dict[str, Any]:
    chosen = {
        "method": {"name": method, **BRIEF.get(method, {})},
        "effects": effects,
        "machine": {"device": bench.device.type},
        "memory": KEPT.get(method, COURSE["memory"]),
    }
    return {**COURSE, **chosen}


def _note(before: int) -> str:
    return f"beside {before / GIGABYTE:.2f} GB of Python, torch and data"


def _prepared(tree: Mapping[str, Any]) -> Callable[[], object]:
    splits = made_splits(classes=20, train=50, test=10)
    folder = Path(tempfile.mkdtemp(prefix="remanence-bench-"))
    return partial(_run, Experiment.of(tree), folder, splits)


def _run(experiment: Experiment, folder: Path, splits: Any) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        run(experiment, place, splits=splits)
    folder.rmdir()
