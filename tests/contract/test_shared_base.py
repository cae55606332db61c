"""A base increment is trained once for all runs that agree on it, and for no other."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from short_runs import SHORT, Case, Trained, case, contents

from remanence.core.progress import Progress
from remanence.engine.run import Place, run
from remanence.experiment import Experiment

SORTED = '''
"""Digits in the order of their classes, as many of each: what a folder of folders looks like."""

import torch

from remanence.core.settings import settings
from remanence.data.base import Images, Splits
from remanence.data.digits import Digits


@settings
class SortedDigits(Digits):
    """Thirty training images and ten test images of each digit, digit after digit."""

    def load(self) -> Splits:
        splits = super().load()
        return Splits(_some(splits.train, 30), _some(splits.test, 10), splits.class_names)


def _some(images: Images, count: int) -> Images:
    places = [torch.nonzero(images.labels == label).flatten()[:count] for label in range(10)]
    return images[torch.cat(places)]
'''


class Lines(Progress):
    """What a run says while it works."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def said(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture
def sorted_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a module of the user's own that holds a source of data."""
    package = tmp_path / "modules" / "mine"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "sorted_digits.py").write_text(SORTED)
    monkeypatch.syspath_prepend(package.parent)
    for name in ("mine", "mine.sorted_digits"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "mine.sorted_digits"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (case("lucir", "", 2), case("lucir", "colliding,momentum", 0)),
        (case("finetune", "halved", 0), case("finetune", "", 2)),
        (case("icarl", "", 2), case("lwf", "momentum", 0)),
        (case("bic", "", 2), case("bic", "colliding,momentum", 2)),
    ],
    ids=lambda one: one.name,
)
def test_a_run_that_takes_the_base_of_another_ends_as_it_would_alone(
    first: Case, second: Case, trained: Callable[[Case], Trained], tmp_path: Path
) -> None:
    store, said = tmp_path / "bases", Lines()
    run(first.experiment, Place(tmp_path / "first", store))
    run(second.experiment, Place(tmp_path / "second", store), said)
    assert len(said.lines) == 1 and "base" in said.lines[0]
    assert contents(tmp_path / "second") == contents(trained(second).folder)


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 7},
        {"training": {"base_epochs": 2}},
        {"training": {"rate": 0.05}},
        {"stream": {"sizes": [4, 2]}},
        {"stream": {"order": "random:3"}},
        {"backbone": {"name": "convnet", "width": 8}},
        {"method": "lucir"},
        {"effects": {"momentum": {"base_direction": "accumulate"}}},
    ],
    ids=str,
)
def test_a_run_that_would_train_another_base_trains_its_own(
    other: dict[str, Any], tmp_path: Path
) -> None:
    brief = {"training": {"epochs": 1}, "stream": {"sizes": [3, 1]}, "memory": {"per_class": 0}}
    said = Lines()
    run(Experiment.of(SHORT, brief), Place(tmp_path / "one", tmp_path / "bases"))
    run(Experiment.of(SHORT, brief, other), Place(tmp_path / "other", tmp_path / "bases"), said)
    assert said.lines == []


def test_where_more_is_kept_from_training_the_base_is_another(tmp_path: Path) -> None:
    """BiC trains on no image of its validation set, and a larger budget has a larger one."""
    said = Lines()
    brief = {"method": "bic", "training": {"epochs": 1}, "stream": {"sizes": [3, 1]}}
    for keep in (2, 12):
        experiment = Experiment.of(SHORT, brief, {"memory": {"per_class": keep}})
        run(experiment, Place(tmp_path / str(keep), tmp_path / "bases"), said)
    assert said.lines == []
    assert len(list((tmp_path / "bases").iterdir())) == 2


def test_other_classes_are_another_base_even_where_the_data_are_sorted_by_class(
    sorted_digits: str, tmp_path: Path
) -> None:
    """The labels alone, which are places in the order, are the same for any two classes here."""
    store, brief = tmp_path / "bases", {"stream": {"sizes": [2, 2]}, "memory": {"per_class": 0}}
    for name, order in (("one", [0, 1, 2, 3]), ("other", [2, 3, 0, 1])):
        chosen = {"data": sorted_digits, "stream": {"order": order}}
        experiment = Experiment.of(SHORT, brief, chosen)
        run(experiment, Place(tmp_path / name, store))
        run(experiment, Place(tmp_path / f"{name} alone"))
        assert contents(tmp_path / name) == contents(tmp_path / f"{name} alone")


def test_whoever_wants_a_base_that_is_being_trained_waits_and_takes_it(tmp_path: Path) -> None:
    """Both start together; were they not to wait, both would train it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["remanence.engine.run"])
    names = ("one", "other")
    both = [context.Process(target=_run_beside_others, args=(tmp_path, name)) for name in names]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    logs = [(tmp_path / name / "log.jsonl").read_text() for name in names]
    trained = [sum('"increment": 0' in line for line in log.splitlines()) for log in logs]
    assert sorted(trained) == [0, 40], "epochs of the base in each"
    assert len(list((tmp_path / "bases").iterdir())) == 1, "no lock is left"


def _run_beside_others(folder: Path, name: str) -> None:
    brief = {"training": {"base_epochs": 40, "epochs": 1}, "memory": {"per_class": 1}}
    run(Experiment.of(SHORT, brief), Place(folder / name, folder / "bases"))
