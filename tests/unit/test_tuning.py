"""What is left to the machine is measured once, remembered, and never asked again in a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from remanence.core.errors import SettingsError
from remanence.engine import tuning
from remanence.engine.run import Place, run
from remanence.experiment import Experiment
from remanence.run_folder import described, read_experiment

CPU = torch.device("cpu")
SHAPE = (1, 8, 8)
BRIEF = {
    "method": "finetune",
    "stream": {"sizes": [2]},
    "training": {"epochs": 1},
    "machine": {"threads": 1},
}
RESIDUAL = {"backbone": "resnet32"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "remanence" / "fastest.json"


class Clock:
    """Says how long each way takes, and counts how often it is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fused: float = 1.0, **seconds: float):
        self.asked = 0
        self._seconds = seconds | {"plain": 1.0, "fused": fused}
        monkeypatch.setattr(tuning, "_seconds", self)

    def __call__(self, trunk: object, images: object, way: tuple[str, str]) -> float:
        self.asked += 1
        precision, kernels = way
        return self._seconds[precision] * self._seconds[kernels]


def fastest(tree: dict[str, Any] | None = None, shape: tuple[int, ...] = SHAPE) -> tuple[str, str]:
    machine = tuning.tuned(Experiment.of(tree or {}).resolved(), shape, CPU).machine
    return machine.precision, machine.kernels


@pytest.mark.parametrize(
    ("bfloat16", "expected"),
    [(0.5, "bfloat16"), (0.83, "bfloat16"), (0.84, "float32"), (3.0, "float32")],
)
def test_bfloat16_where_it_pays_by_a_fifth(
    bfloat16: float, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(monkeypatch, float32=1.0, bfloat16=bfloat16)
    assert fastest() == (expected, "plain")


@pytest.mark.parametrize(
    ("fused", "expected"), [(0.5, "fused"), (0.95, "fused"), (0.96, "plain"), (2.0, "plain")]
)
@pytest.mark.parametrize("bfloat16", [0.5, 1.1])
def test_kernels_where_they_pay_by_a_twentieth(
    fused: float, expected: str, bfloat16: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "library", object)
    Clock(monkeypatch, fused, float32=1.0, bfloat16=bfloat16)
    precision = "bfloat16" if bfloat16 < 1 else "float32"
    assert fastest(RESIDUAL) == (precision, expected)


def test_without_a_compiler_kernels_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "library", lambda: None)
    clock = Clock(monkeypatch, 0.1, float32=1.0, bfloat16=0.5)
    assert fastest(RESIDUAL) == ("bfloat16", "plain") and clock.asked == 2
    with pytest.raises(SettingsError, match=r"machine\.kernels: .*C compiler.*choose plain"):
        fastest({"machine": {"kernels": "fused"}})


def test_what_was_measured_is_remembered(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    first = Clock(monkeypatch, float32=1.0, bfloat16=0.5)
    assert fastest() == ("bfloat16", "plain")
    assert first.asked == 2
    assert list(json.loads(cache.read_text()).values()) == [["bfloat16", "plain"]]
    again = Clock(monkeypatch, float32=1.0, bfloat16=2.0)
    assert fastest() == ("bfloat16", "plain")
    assert again.asked == 0
    assert fastest(shape=(1, 16, 16)) == ("float32", "plain")


@pytest.mark.parametrize("content", ["nonsense", "[]", '{"a": 3}', '{"a": ["float32", "x"]}'])
def test_a_damaged_memory_is_measured_anew(
    content: str, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text(content)
    Clock(monkeypatch, float32=1.0, bfloat16=0.5)
    assert fastest() == ("bfloat16", "plain")


def test_what_is_chosen_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, float32=1.0, bfloat16=0.5)
    chosen = {"machine": {"precision": "float32", "kernels": "plain"}}
    experiment = Experiment.of(chosen, RESIDUAL).resolved()
    assert tuning.tuned(experiment, SHAPE, CPU) == experiment
    assert clock.asked == 0


def test_it_really_measures() -> None:
    assert "auto" not in fastest(RESIDUAL)


def test_a_run_keeps_to_what_its_folder_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path
) -> None:
    Clock(monkeypatch, float32=1.0, bfloat16=0.5)
    experiment = Experiment.of(BRIEF)
    run(experiment, Place(tmp_path / "run"))
    cache.unlink()
    Clock(monkeypatch, float32=1.0, bfloat16=2.0)
    run(experiment, Place(tmp_path / "run"))  # not refused as another experiment
    kept = read_experiment(tmp_path / "run")
    decided, chosen = (kept[part]["machine"] for part in ("resolved", "chosen"))
    assert (decided["precision"], decided["kernels"]) == ("bfloat16", "plain")
    assert chosen["precision"] == chosen["kernels"] == "auto"


def test_a_run_of_before_there_were_kernels_goes_on_plain(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tuning, "library", object)
    Clock(monkeypatch, 0.1, float32=1.0, bfloat16=2.0)
    experiment = Experiment.of(BRIEF, RESIDUAL, {"machine": {"kernels": "plain"}})
    run(experiment, Place(tmp_path / "run"))
    tree = read_experiment(tmp_path / "run")
    del tree["resolved"]["machine"]["kernels"], tree["chosen"]["machine"]["kernels"]
    for name in ("experiment.json", "checkpoints/experiment-copy.json"):
        (tmp_path / "run" / name).write_text(described(tree))
    run(Experiment.of(BRIEF, RESIDUAL), Place(tmp_path / "run"))  # fused were another experiment
