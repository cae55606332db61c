"""A grid: which runs words ask for, and that each ends once, whatever happens to its workers."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from commands import BRIEF, Here, check_one_line, contents, started

from remanence.cli.reproduce import _run
from remanence.core.errors import SettingsError
from remanence.engine.run import Place, run
from remanence.grid.axes import points, values
from remanence.grid.local import slots
from remanence.grid.places import Wish
from remanence.recipe import compose
from remanence.records import read_records
from remanence.reproduce.ledger import Ledger
from remanence.reproduce.plan import Planned
from remanence.reproduce.shape import name_of, shape

RECIPE = "digits-lucir-dde"
HAS_RAY = importlib.util.find_spec("ray") is not None
PLACES = [
    "local",
    pytest.param("ray", marks=pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed")),
]
LONG = (*BRIEF, "stream.sizes=[3,1,1,1,1]", "training.epochs=12")


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("seed=1", ["1"]),
        ("seed=1,2,3", ["1", "2", "3"]),
        ("method=lucir,podnet", ["lucir", "podnet"]),
        ("effects=halved,momentum", ["halved,momentum"]),
        ("effects=halved|colliding,momentum|", ["halved", "colliding,momentum", ""]),
        ("stream.sizes=[3,2,2]", ["[3,2,2]"]),
    ],
)
def test_a_comma_parts_values_where_the_whole_is_none(word: str, found: list[str]) -> None:
    assert values("digits-lucir", word) == found


def test_every_combination_is_one_run_and_none_is_there_twice() -> None:
    words = ["seed=1,2,1", "memory.per_class=0,5", "training.epochs=3"]
    found = points("digits-lucir,digits-finetune", words)
    assert len(found) == 2 * 2 * 2
    assert {one.experiment.training.epochs for one in found} == {3}
    labels = {one.without("seed") for one in found}
    assert len(labels) == 4 and "recipe=digits-finetune memory.per_class=5" in labels


def test_what_is_no_axis_is_refused() -> None:
    with pytest.raises(SettingsError, match="'seed' is no axis"):
        points("digits-lucir", ["seed"])


def test_a_place_that_is_none_is_refused(here: Here) -> None:
    line = check_one_line(here("grid", "digits-lucir", "--on", "moon"), 2)
    assert "none of local, ray and ray:ADDRESS" in line


def test_without_ray_one_line_says_what_to_install(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    words = ("grid", RECIPE, *BRIEF, "--on", "ray", "--quiet")
    assert "pip install 'remanence[cluster]'" in check_one_line(here(*words), 1)


@pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed")
def test_a_cluster_that_is_not_there_is_said_at_once(here: Here) -> None:
    with socket.socket() as taken:  # and nobody listens
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        words = ("grid", RECIPE, *BRIEF, "--on", f"ray:{address}", "--quiet")
        line = check_one_line(here(*words), 1)
    assert f"cannot join the Ray cluster at {address}" in line and "ray start --head" in line


def test_the_list_has_every_run_with_its_time_and_runs_none(here: Here) -> None:
    words = ("grid", "digits-lucir", "seed=1,2", *BRIEF, "--speed", "1000", "--list", "--json")
    outcome = here(*words)
    assert outcome.code == 0, outcome.err
    listed = json.loads(outcome.out)
    assert [one["state"] for one in listed["runs"]] == ["to run", "to run"]
    # Two epochs each of the 3 + 2 + 2 classes and the 5 images kept of each older one.
    trained, looked = 2 * (7 * 135 + 5 * (3 + 5)), 2 * (4 * 135 + 5 * (3 + 5))
    assert listed["seconds"] == pytest.approx(2 * (trained + 0.3 * looked) / 1000)
    assert not Path("runs").exists()


def test_a_grid_is_the_runs_that_the_command_run_makes(here: Here) -> None:
    words = ("grid", RECIPE, "seed=1,2", *BRIEF, "--workers", "1", "--json")
    outcome = here(*words)
    assert outcome.code == 0, outcome.err
    assert len(set(json.loads(outcome.out)["runs"])) == 2
    before = {folder: contents(folder) for folder in Path("runs").iterdir()}
    assert here("run", RECIPE, "seed=2", *BRIEF, "--quiet").code == 0
    assert here(*words).out == outcome.out
    assert {folder: contents(folder) for folder in Path("runs").iterdir()} == before


def test_a_run_that_fails_is_named_and_holds_no_other_up(here: Here) -> None:
    words = ("grid", RECIPE, "memory.per_class=1000,1", *BRIEF, "--workers", "1", "--quiet")
    line = check_one_line(here(*words), 2)
    assert "memory.per_class: 1000 " in line and RECIPE in line
    assert len(list(Path("runs").glob("*/records.jsonl"))) == 1


@pytest.mark.parametrize("place", PLACES)
def test_a_worker_that_is_killed_has_a_successor_who_goes_on(
    place: str, tmp_path: Path, here: Here
) -> None:
    words = ("grid", RECIPE, "seed=1,2", *LONG, "--on", place, "--json")
    with started(*words) as process:
        killed = _kill_one_that_is_in_the_middle(Path("runs"), process)
        out, err = process.communicate()
    assert process.returncode == 0, err
    folders = [Path(folder) for folder in json.loads(out)["runs"]]
    assert killed in [folder.absolute() for folder in folders]
    assert _log(killed, "started") >= 2
    assert _log(killed, '"increment": 1, "stage"') == 12, "no finished increment is learned again"
    for seed, folder in enumerate(folders, 1):
        _, experiment = compose(RECIPE, [f"seed={seed}", *LONG])
        run(experiment, Place(tmp_path / str(seed), recipe=RECIPE))
        assert contents(folder) == contents(tmp_path / str(seed))
    for new in (2, 0):
        assert f"{new} new runs; 2 in" in here("reproduce", "--collect", "runs").out


@pytest.mark.parametrize("place", PLACES)
def test_a_grid_that_is_stopped_saves_every_run_and_goes_on(place: str, here: Here) -> None:
    words = ("grid", RECIPE, "seed=1,2", *LONG, "training.epochs=40", "--workers", "1")
    with started(*words, "--on", place, "--quiet") as process:
        while not list(Path("runs").glob("*/records.jsonl")):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "every run is saved; the same command goes on" in err.splitlines()[-1]
    assert sum(_log(log.parent, '"finished"') for log in Path("runs").glob("*/log.jsonl")) < 2
    assert here(*words, "--quiet").code == 0


def test_slots_are_sized_to_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remanence.grid.local.processors", lambda: 16)
    assert [slot.threads for slot in slots()] == [1] * 16
    assert [slot.threads for slot in slots(threads=4)] == [4] * 4
    assert len(slots(at_once=3)) == 3
    monkeypatch.setattr("remanence.grid.local._gpus", lambda: ["0", "1"])
    assert [(slot.gpu, slot.threads) for slot in slots(per_gpu=2)] == [
        ("0", 4),
        ("0", 4),
        ("1", 4),
        ("1", 4),
    ]
    assert len(slots(on_cpu=True)) == 16
    assert Wish(on="ray:head:6379").workers([]).address == "head:6379"  # type: ignore[attr-defined]


def _kill_one_that_is_in_the_middle(runs: Path, process: subprocess.Popen[str]) -> Path:
    """Kill the worker of a run that has learned two increments, and say which run it was."""
    end = time.monotonic() + 300
    while time.monotonic() < end and process.poll() is None:
        for folder in runs.glob(f"{RECIPE}-*"):
            file = folder / "records.jsonl"
            if file.exists() and len(read_records(file)) >= 2 and (holder := _holder(folder)):
                os.kill(holder, signal.SIGKILL)
                return folder.absolute()
        time.sleep(0.002)
    raise AssertionError(f"no run was in the middle: {process.communicate()}")


def _holder(folder: Path) -> int | None:
    """The process that holds the lock of a run folder."""
    inode = (folder / "lock").stat().st_ino
    for line in Path("/proc/locks").read_text().splitlines():
        words = line.split()
        if words[1] == "FLOCK" and words[5].endswith(f":{inode}"):
            return int(words[4])
    return None


def _log(folder: Path, text: str) -> int:
    return (folder / "log.jsonl").read_text().count(text)


def test_what_a_table_lacks_is_run_at_once_and_is_in_the_ledger_once() -> None:
    chosen = [compose(RECIPE, [f"seed={seed}", *BRIEF])[1] for seed in (1, 2)]
    plans = [Planned(name_of(one), one, shape(one)) for one in chosen]
    plans[1].is_measured = True
    ledger = Ledger(Path("results/ledger"))
    words = argparse.Namespace(on="local", threads=None, per_gpu=1, workers=1)
    words.runs, words.quiet, words.json = Path("runs"), True, False
    _run(words, plans, ledger)  # one is missing: here, with its progress
    assert [entry.seed for entry in ledger] == [1]
    plans[1].is_measured = False
    for _ in range(2):
        _run(words, plans, ledger)
        assert sorted(entry.seed for entry in Ledger(ledger.folder)) == [1, 2]
    assert _log(Path("runs", plans[0].name), '"finished"') == 3, "finished runs are only read again"
