"""A run that is stopped, killed or met by another one ends as if nothing had been."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest
from commands import BRIEF, Here, check_one_line, child, contents, events, started, wait_for_start

from remanence.core.errors import Interrupted
from remanence.engine.keeper import Keeper

RECIPE = "digits-lucir-dde"
LONGER = ("training.epochs=10", "training.batch=32")
KILLS = 10


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_a_signal_saves_and_says_how_to_go_on(
    number: signal.Signals, tmp_path: Path, undisturbed: Path, here: Here
) -> None:
    folder = tmp_path / "run"
    words = ("run", RECIPE, *BRIEF, "--out", str(folder))
    with started(*words) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("increment 1/2: learning"):
                process.send_signal(number)
                break
        *progress, last = process.stderr.read().splitlines()
    assert process.returncode == 128 + number
    assert all(line.startswith("increment") for line in progress)
    assert last.startswith("remanence: stopped as asked")
    assert "saved" in last and "the same command goes on" in last and str(folder) in last
    assert len((folder / "records.jsonl").read_text().splitlines()) < 3
    assert here(*words).code == 0
    assert contents(folder) == contents(undisturbed)


def test_a_second_signal_does_not_wait_for_the_step_to_end() -> None:
    keeper = Keeper(lambda state: None, every_seconds=60)
    with keeper.listening():
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Interrupted, match=r"at once.*checkpoint") as error:
            signal.raise_signal(signal.SIGINT)
    assert error.value.exit_code == 128 + signal.SIGINT


def test_ten_kills_at_random_moments_change_nothing(tmp_path: Path, here: Here) -> None:
    chance = random.Random(1993)
    folder, alone = tmp_path / "killed", tmp_path / "alone"
    words = ["run", RECIPE, *BRIEF, *LONGER, "--quiet", "--out"]
    ends = []
    for count in range(KILLS):
        save_every = chance.choice(["0", "0.2"])
        process = child([*words, str(folder), "--save-every", save_every], tmp_path / "errors")
        wait_for_start(folder, times=count + 1)
        process.join(chance.uniform(0.0, 0.3))
        process.kill()
        process.join()
        ends.append(process.exitcode)
    assert ends.count(-signal.SIGKILL) >= KILLS / 2, "most of them did not come too late"
    assert here(*words, str(folder)).code == 0
    assert here(*words, str(alone)).code == 0
    assert contents(folder) == contents(alone)


def test_a_second_process_in_the_same_folder_is_refused(
    tmp_path: Path, undisturbed: Path, here: Here
) -> None:
    folder = tmp_path / "run"
    words = ["run", RECIPE, *BRIEF, "--quiet", "--out", str(folder)]
    process = child(words, tmp_path / "errors")
    wait_for_start(folder)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        line = check_one_line(here(*words), 4)
        assert "another process is running" in line and str(folder) in line
        assert events(folder, "started") == 1
    finally:
        os.kill(process.pid, signal.SIGCONT)
        process.join()
    assert process.exitcode == 0
    assert contents(folder) == contents(undisturbed)
