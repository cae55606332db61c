"""Finished runs become entries of the ledger, once each, from the least that is left of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import Here, check_one_line

from remanence.metrics import summarise
from remanence.records import read_records
from remanence.reproduce.collect import entry_of
from remanence.reproduce.ledger import Ledger
from remanence.run_folder import described, read_experiment

ENOUGH = ("experiment.json", "records.jsonl", "log.jsonl")


@pytest.fixture
def brought(undisturbed: Path, tmp_path: Path) -> Path:
    """What comes back of a run that was made on another machine."""
    folder = tmp_path / "brought" / "run"
    folder.mkdir(parents=True)
    for name in ENOUGH:
        shutil.copy(undisturbed / name, folder)
    return folder


def test_collecting_twice_gives_one_entry(here: Here, brought: Path) -> None:
    for new in (1, 0):
        outcome = here("reproduce", "--collect", str(brought.parent))
        assert outcome.code == 0, outcome.err
        assert f"{new} new runs; 1 in results/ledger" in outcome.out
    (file,) = Path("results/ledger").iterdir()
    assert file.stem == json.loads(file.read_text())["name"]


def test_every_metric_is_that_of_the_run(brought: Path, tmp_path: Path) -> None:
    records = read_records(brought / "records.jsonl")
    Ledger(tmp_path / "ledger").add(entry_of(brought))
    (entry,) = Ledger(tmp_path / "ledger")
    assert list(entry.right) == list(records[0].readings)
    for reading in entry.right:
        assert entry.summary(reading) == summarise(records, reading)


def test_where_it_was_made_makes_no_other_run_of_it(brought: Path) -> None:
    before = entry_of(brought)
    _change(brought, lambda tree: tree["machine"].update(precision="bfloat16", threads=7))
    assert entry_of(brought).name == before.name
    _change(brought, lambda tree: tree.update(seed=5))
    assert entry_of(brought).name != before.name


def test_a_run_that_is_not_finished_is_left_out(here: Here, brought: Path) -> None:
    records = (brought / "records.jsonl").read_text().splitlines(keepends=True)
    (brought / "records.jsonl").write_text("".join(records[:-1]))
    outcome = here("reproduce", "--collect", str(brought))
    assert outcome.code == 4
    assert "not finished" in outcome.err
    assert not Path("results").exists()


def test_a_folder_without_runs_is_refused(here: Here, tmp_path: Path) -> None:
    assert "holds none" in check_one_line(here("reproduce", "--collect", str(tmp_path)), 4)


def test_a_damaged_entry_is_named(here: Here) -> None:
    Path("results/ledger").mkdir(parents=True)
    Path("results/ledger/one.json").write_text('{"format": 1}')
    assert "one.json is damaged" in check_one_line(here("reproduce"), 4)


def _change(folder: Path, change: object) -> None:
    kept = read_experiment(folder)
    change(kept["resolved"])  # type: ignore[operator]
    (folder / "experiment.json").write_text(described(kept))
