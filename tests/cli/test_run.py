"""The command `run` from start to end: what it prints, where it writes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import BRIEF, Here, check_one_line, contents, events, finished

from remanence.metrics import readings, summarise
from remanence.records import read_records

RECIPE = "digits-lucir-dde"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which the command was run once, and what it printed."""
    runs = tmp_path_factory.mktemp("first")
    folder = runs / "run"
    outcome = finished("run", RECIPE, *BRIEF, "--json", "--out", str(folder), "--runs", str(runs))
    assert (outcome.code, outcome.err) == (0, "")
    return folder, outcome.out


def test_the_result_as_json_is_what_the_records_come_to(first: tuple[Path, str]) -> None:
    folder, printed = first
    result = json.loads(printed)
    records = read_records(folder / "records.jsonl")
    assert result["folder"] == str(folder)
    assert list(result["readings"]) == readings(records)
    for name, summary in result["readings"].items():
        assert summary["average_accuracy"] == summarise(records, name).average_accuracy


def test_a_command_of_the_system_computes_what_a_call_from_python_does(
    first: tuple[Path, str], undisturbed: Path
) -> None:
    assert contents(first[0]) == contents(undisturbed)


def test_the_same_command_again_trains_nothing_and_prints_the_same(
    first: tuple[Path, str], here: Here
) -> None:
    folder, printed = first
    before, epochs = contents(folder), events(folder, "epoch")
    again = here("run", RECIPE, *BRIEF, "--json", "--out", str(folder))
    assert (again.code, again.out) == (0, printed)
    assert contents(folder) == before
    assert events(folder, "epoch") == epochs > 0


def test_quiet_prints_the_table_and_nothing_else(first: tuple[Path, str], here: Here) -> None:
    folder, _ = first
    outcome = here("run", RECIPE, *BRIEF, "--quiet", "--out", str(folder))
    assert (outcome.code, outcome.err) == (0, "")
    for name in readings(read_records(folder / "records.jsonl")):
        assert name in outcome.out
    assert outcome.out.splitlines()[-1] == f"{folder}/records.jsonl"


def test_progress_is_lines_where_there_is_no_terminal(undisturbed: Path, here: Here) -> None:
    outcome = here("run", RECIPE, *BRIEF, "--out", str(undisturbed))
    assert outcome.err.splitlines() == ["reading the data"], "all increments are finished"


def test_another_experiment_in_the_same_folder_is_refused(undisturbed: Path, here: Here) -> None:
    before = contents(undisturbed)
    outcome = here("run", RECIPE, *BRIEF, "seed=7", "--quiet", "--out", str(undisturbed))
    line = check_one_line(outcome, 4)
    assert "seed 1993 -> 7" in line and str(undisturbed) in line and "--out" in line
    assert contents(undisturbed) == before


def test_a_run_folder_is_named_after_the_recipe_and_what_is_laid_over_it(
    tmp_path: Path, here: Here
) -> None:
    runs = tmp_path / "runs"
    words = ("run", "digits-finetune", *BRIEF, "--json", "--runs", str(runs))
    folders = [
        Path(json.loads(here(*words, *more).out)["folder"])
        for more in ((), ("seed=7",), ("memory.per_class=5",))
    ]
    assert all(folder.name.startswith("digits-finetune-") for folder in folders)
    assert folders[0] != folders[1]
    assert folders[0] == folders[2], "5 images are the recipe's own"
    assert {path.name for path in runs.iterdir()} == {"bases", *(one.name for one in folders)}


def test_a_recipe_of_the_users_own(tmp_path: Path, here: Here) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        "about = 'two and two'\n[experiment]\nmethod = 'finetune'\nmemory.per_class = 1\n"
        "stream = { sizes = [2, 2], order = [4, 2, 0, 1] }\ntraining = { epochs = 1 }\n"
    )
    outcome = here("run", str(file), "--json", "--runs", str(tmp_path))
    assert outcome.code == 0
    assert json.loads(outcome.out)["folder"] == str(tmp_path / "mine")
    assert read_records(tmp_path / "mine" / "records.jsonl")[-1].group_sizes == (2, 2)
