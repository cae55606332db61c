"""What the switches do to accuracy: ResNet-32 on the digits, the same seeds with and without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from remanence.bench.base import Bench, Benchmark, Row, Spread
from remanence.core.settings import settings
from remanence.engine.run import run
from remanence.experiment import Experiment
from remanence.kernels.library import library
from remanence.metrics import readings, summarise

SEEDS = 4
COURSE: Mapping[str, Any] = {
    "data": "digits",
    "stream": {"sizes": [4, 2, 2, 2]},
    "method": {"name": "lucir", "less_forget": 3},
    "effects": {"colliding": {}, "momentum": {}},
    "backbone": "resnet32",
    "memory": {"per_class": 5},
    "training": {"epochs": 8, "batch": 64},
}
PLAIN = {"precision": "float32", "kernels": "plain"}


@settings
class Accuracy(Benchmark):
    """Average incremental accuracy, in points; other last bits are another run, so it scatters."""

    def rows(self, bench: Bench) -> Iterator[Row]:
        seeds = range(1 if bench.quick else SEEDS)
        plain = [_accuracy(bench, PLAIN, seed) for seed in seeds]
        yield Row("float32, plain kernels", Spread.of(plain), "%", note=f"{len(seeds)} seeds")
        for name, machine in _switched(bench).items():
            found = [_accuracy(bench, machine, seed) for seed in seeds]
            gains = [one - other for one, other in zip(found, plain, strict=True)]
            what = f"{name}, minus that"
            yield Row(what, Spread.of(gains), "points", note=_range(gains))


def _switched(bench: Bench) -> dict[str, dict[str, str]]:
    half = PLAIN | {"precision": "bfloat16"}
    if bench.device.type != "cpu" or library() is None:
        return {"bfloat16": half}
    fused = {"kernels": "fused"}
    return {"fused": PLAIN | fused, "bfloat16 and fused": half | fused}


def _range(gains: list[float]) -> str:
    return f"{min(gains):+.2f} to {max(gains):+.2f}, {len(gains)} seeds in pairs"


def _accuracy(bench: Bench, machine: Mapping[str, str], seed: int) -> float:
    epochs = {"training": {"epochs": 1}} if bench.quick else {}
    chosen = {"machine": {**machine, "device": bench.device.type}, "seed": seed}
    experiment = Experiment.of(COURSE, epochs, chosen)
    folder = bench.folder / f"{machine['precision']}-{machine['kernels']}-{seed}"
    records = run(experiment, folder)
    return float(summarise(records, readings(records)[0]).average_accuracy)
