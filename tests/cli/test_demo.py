"""The demo: which runs it wants, and what it shows of them; made records stand in for theirs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from commands import BRIEF, Here, contents

from remanence.core.errors import SettingsError
from remanence.engine.run import Place
from remanence.grid import jobs as grid_jobs
from remanence.grid.jobs import Job, Workers, run_all
from remanence.grid.local import Local, Slot
from remanence.recipe import compose
from remanence.records import Record, read_records


@pytest.fixture
def wanted(undisturbed: Path, monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs that the demo asks for; each is given the records of a run that was made before."""
    asked: list[Job] = []
    records = read_records(undisturbed / "records.jsonl")

    def stand_in(
        jobs: Sequence[Job], finished: Callable[[Job], None], workers: Workers
    ) -> list[list[Record]]:
        for job in jobs:
            asked.append(job)
            finished(job)
        return [records] * len(jobs)

    monkeypatch.setattr(grid_jobs, "run_all", stand_in)
    return asked


def test_every_method_runs_with_every_seed_with_and_without_memory(
    wanted: list[Job], tmp_path: Path, here: Here
) -> None:
    outcome = here("demo", "--seeds", "2", "--quiet", "--out", str(tmp_path))
    assert outcome.code == 0
    assert len(wanted) == 3 * 2 * 2
    assert len({job.place.folder for job in wanted}) == len(wanted)
    assert {job.experiment.memory.per_class for job in wanted} == {5, 0}
    assert {job.experiment.seed for job in wanted} == {0, 1}
    assert {job.experiment.machine.threads for job in wanted} == {1}
    assert len({job.experiment.stream.order for job in wanted}) == 2, "seeds shuffle the classes"


@pytest.mark.usefixtures("wanted")
def test_quiet_shows_the_result_and_no_progress(tmp_path: Path, here: Here) -> None:
    outcome = here("demo", "--seeds", "2", "--quiet", "--out", str(tmp_path))
    assert outcome.err == ""
    assert all(outcome.out.count(label) >= 2 for label in ("finetune", "LUCIR", "LUCIR+DDE"))
    assert "(2)" in outcome.out
    assert (tmp_path / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    assert str(tmp_path / "accuracy.png") in outcome.out


@pytest.mark.usefixtures("wanted")
def test_the_result_as_json(tmp_path: Path, here: Here) -> None:
    outcome = here("demo", "--seeds", "1", "--json", "--out", str(tmp_path))
    assert (outcome.code, outcome.err) == (0, "")
    found = json.loads(outcome.out)
    assert len(found) == 6
    assert all(0 <= one["last_accuracy"] <= 100 for all_ in found.values() for one in all_)


def _job(folder: Path, *words: str) -> Job:
    _, experiment = compose("digits-lucir-dde", [*BRIEF, *words])
    return Job("label", "setting", experiment, Place(folder, recipe="digits-lucir-dde"))


def test_a_worker_computes_what_this_process_does_and_its_refusals_are_said_here(
    tmp_path: Path, undisturbed: Path
) -> None:
    jobs = [_job(tmp_path / "one"), _job(tmp_path / "two", "memory.per_class=1000")]
    done: list[Job] = []
    with pytest.raises(SettingsError, match=r"memory\.per_class: 1000 "):
        run_all(jobs, done.append, Local((Slot(),)))
    assert done == jobs[:1]
    assert contents(tmp_path / "one") == contents(undisturbed)
