"""Every method under every chain of effects: it ends well, and a cut leaves no trace."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from short_runs import (
    METHODS,
    OTHER_WAYS,
    PLAIN,
    REFUSED,
    Case,
    Cut,
    CutAt,
    Trained,
    case,
    contents,
)

from remanence.core import archive
from remanence.core.errors import SettingsError
from remanence.effects.nearest_mean import NearestMean
from remanence.engine.readings import chains
from remanence.engine.run import Place, run
from remanence.experiment import Experiment
from remanence.metrics import readings, summarise

ALL = [*PLAIN, *OTHER_WAYS]
each_case = pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)


@each_case
def test_it_ends_with_every_reading_it_promises(
    case: Case, trained: Callable[[Case], Trained]
) -> None:
    records = trained(case).records
    can_be_read = [
        name
        for name, chain in chains(case.experiment).items()
        if _keeps(case) or not any(isinstance(effect, NearestMean) for effect in chain)
    ]
    assert [record.increment for record in records] == [0, 1, 2]
    assert readings(records) == can_be_read
    for name in can_be_read:
        summary = summarise(records, name)
        assert all(0 <= accuracy <= 100 for accuracy in summary.curve)
        assert summary.curve[0] > 50, "three classes, all images at hand: better than guessing"
        assert math.isfinite(summary.forgetting or 0.0)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_cannot_work_is_refused_in_one_line_that_says_what_would(
    case: Case, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=r"^(method|memory|effects)[\w.]*: .*; .*") as error:
        run(case.experiment, Place(tmp_path / "run"))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_with_exemplars_every_method_works_under_every_chain() -> None:
    assert {case.experiment.method.name for case in PLAIN} == set(METHODS)
    assert [case.name for case in REFUSED if case.experiment.memory.per_class] == []


@each_case
def test_its_records_add_up(case: Case, trained: Callable[[Case], Trained]) -> None:
    for record in trained(case).records:
        classes = sum(record.group_sizes)
        assert len(record.tested) == classes
        for right in record.readings.values():
            assert all(0 <= one <= tested for one, tested in zip(right, record.tested, strict=True))
        assert all(math.isfinite(value) for value in record.learned.values())
        assert record.kept["images"] == case.experiment.memory.share(classes) * classes


@each_case
def test_a_run_that_is_cut_in_an_epoch_ends_the_same(
    case: Case, trained: Callable[[Case], Trained], tmp_path: Path
) -> None:
    _cut_and_go_on(case.experiment, tmp_path, (1, 7))
    assert contents(tmp_path) == contents(trained(case).folder)


@pytest.mark.parametrize("case", OTHER_WAYS, ids=lambda case: case.name)
def test_a_run_that_is_cut_again_and_again_ends_the_same(
    case: Case, trained: Callable[[Case], Trained], tmp_path: Path
) -> None:
    # Before anything of increment 1 is saved, at the end of its first epoch, and one step later.
    _cut_and_go_on(case.experiment, tmp_path, (0, 3), (0, 5), (1, 0), (1, 5), (1, 1), (2, 8))
    assert contents(tmp_path) == contents(trained(case).folder)


@pytest.mark.parametrize("name", ["two stages", "moved exemplars"])
def test_a_run_that_is_cut_in_the_balanced_stage_ends_the_same(
    name: str, trained: Callable[[Case], Trained], tmp_path: Path
) -> None:
    (case,) = (case for case in OTHER_WAYS if case.name == name)
    steps = [step for step in trained(case).steps if step.increment == 1]
    balanced = [number for number, step in enumerate(steps) if step.epoch[1] == "balanced"]
    _cut_and_go_on(case.experiment, tmp_path, (1, balanced[0]), (1, 1))
    assert contents(tmp_path) == contents(trained(case).folder)


def test_a_run_that_is_cut_while_a_bias_is_corrected_ends_the_same(
    trained: Callable[[Case], Trained], tmp_path: Path
) -> None:
    (case,) = (case for case in OTHER_WAYS if case.name == "corrected")
    with pytest.raises(Cut):
        run(case.experiment, Place(tmp_path, save_every=0), CutAt(1, 12))
    assert archive.load(tmp_path / "checkpoints" / "session.safetensors")["position"][0] == 1
    _cut_and_go_on(case.experiment, tmp_path, (1, 1))
    assert contents(tmp_path) == contents(trained(case).folder)


def test_a_run_that_is_cut_in_podnets_balanced_stage_ends_the_same(
    trained: Callable[[Case], Trained], tmp_path: Path
) -> None:
    """Nothing is distilled in that stage; what is kept is chosen again after it."""
    whole = case("podnet", "", 2)
    with pytest.raises(Cut):
        run(whole.experiment, Place(tmp_path, save_every=0), CutAt(1, 15))
    assert archive.load(tmp_path / "checkpoints" / "session.safetensors")["position"][0] == 1
    _cut_and_go_on(whole.experiment, tmp_path, (1, 3))
    assert contents(tmp_path) == contents(trained(whole).folder)


def test_a_finished_run_is_not_trained_again(
    trained: Callable[[Case], Trained],
) -> None:
    done = trained(PLAIN[0])
    before = contents(done.folder)
    assert run(PLAIN[0].experiment, Place(done.folder), CutAt(0, 0)) == done.records
    assert contents(done.folder) == before


def _cut_and_go_on(experiment: Experiment, folder: Path, *places: tuple[int, int]) -> None:
    """Cut a run in each place, then let it end: (increment, steps taken there since the last)."""
    for place in places:
        with pytest.raises(Cut):
            run(experiment, Place(folder, save_every=0), CutAt(*place))
    run(experiment, Place(folder))


def _keeps(case: Case) -> bool:
    return case.experiment.memory.share(7) > 0
