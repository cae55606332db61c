"""What is left to the machine is measured once, remembered, and never asked again in a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from remanence.engine import tuning
from remanence.engine.run import Place, run
from remanence.experiment import Experiment
from remanence.run_folder import read_experiment

CPU = torch.device("cpu")
SHAPE = (1, 8, 8)
BRIEF = {
    "method": "finetune",
    "stream": {"sizes": [2]},
    "training": {"epochs": 1},
    "machine": {"threads": 1},
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "remanence" / "precision.json"


class Clock:
    """Says how long each precision takes, and counts how often it is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, float32: float, bfloat16: float) -> None:
        self.asked = 0
        self._seconds = {"float32": float32, "bfloat16": bfloat16}
        monkeypatch.setattr(tuning, "_seconds", self)

    def __call__(self, trunk: object, images: object, precision: str) -> float:
        self.asked += 1
        return self._seconds[precision]


@pytest.mark.parametrize(
    ("bfloat16", "expected"),
    [(0.5, "bfloat16"), (0.83, "bfloat16"), (0.84, "float32"), (3.0, "float32")],
)
def test_bfloat16_where_it_pays_by_a_fifth(
    bfloat16: float, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(monkeypatch, 1.0, bfloat16)
    assert tuning.tuned(Experiment().resolved(), SHAPE, CPU).machine.precision == expected


def test_what_was_measured_is_remembered(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    experiment = Experiment().resolved()
    first = Clock(monkeypatch, 1.0, 0.5)
    assert tuning.tuned(experiment, SHAPE, CPU).machine.precision == "bfloat16"
    assert first.asked == 2 and list(json.loads(cache.read_text()).values()) == ["bfloat16"]
    again = Clock(monkeypatch, 1.0, 2.0)
    assert tuning.tuned(experiment, SHAPE, CPU).machine.precision == "bfloat16"
    assert again.asked == 0
    assert tuning.tuned(experiment, (1, 16, 16), CPU).machine.precision == "float32"


@pytest.mark.parametrize("content", ["nonsense", "[]", '{"a": 3}'])
def test_a_damaged_memory_is_measured_anew(
    content: str, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text(content)
    Clock(monkeypatch, 1.0, 0.5)
    assert tuning.tuned(Experiment().resolved(), SHAPE, CPU).machine.precision == "bfloat16"


def test_what_is_chosen_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 1.0, 0.5)
    experiment = Experiment.of({"machine": {"precision": "float32"}}).resolved()
    assert tuning.tuned(experiment, SHAPE, CPU) == experiment
    assert clock.asked == 0


def test_it_really_measures() -> None:
    assert tuning.tuned(Experiment().resolved(), SHAPE, CPU).machine.precision != "auto"


def test_a_run_keeps_to_what_its_folder_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path
) -> None:
    Clock(monkeypatch, 1.0, 0.5)
    experiment = Experiment.of(BRIEF)
    run(experiment, Place(tmp_path / "run"))
    cache.unlink()
    Clock(monkeypatch, 1.0, 2.0)
    run(experiment, Place(tmp_path / "run"))  # not refused as another experiment
    kept = read_experiment(tmp_path / "run")
    assert kept["resolved"]["machine"]["precision"] == "bfloat16"
    assert kept["chosen"]["machine"]["precision"] == "auto"
