"""Folders and files that cannot be used: one line, nothing half-written, and a way to go on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import BRIEF, Here, Outcome, check_one_line, child, contents
from made_classes import photos

from remanence.core import archive
from remanence.run_folder import described, read_experiment, read_log

RECIPE = "digits-lucir-dde"
WORDS = ("run", RECIPE, *BRIEF, "--quiet")
LEARNER = "checkpoints/learner.safetensors"


@pytest.fixture
def copy(tmp_path: Path, undisturbed: Path) -> Path:
    """A finished run that may be damaged."""
    return Path(shutil.copytree(undisturbed, tmp_path / "copy"))


def _run(here: Here, folder: Path, *more: str) -> Outcome:
    return here(*WORDS, *more, "--out", str(folder))


@pytest.mark.parametrize("below", ["", "run"])
def test_a_file_where_the_folder_should_be(below: str, tmp_path: Path, here: Here) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    line = check_one_line(_run(here, file / below), 4)
    assert str(file) in line and "another folder" in line and "space" not in line
    assert file.read_text() == "mine"


@pytest.fixture
def locked_away(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "read only"
    folder.mkdir()
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("nothing is read-only for root")
    yield folder
    folder.chmod(0o700)


def test_a_folder_that_may_only_be_read(locked_away: Path, here: Here) -> None:
    line = check_one_line(_run(here, locked_away / "run"), 4)
    assert "Permission denied" in line and str(locked_away) in line
    line = check_one_line(_run(here, locked_away), 4)
    assert "Permission denied" in line
    assert list(locked_away.iterdir()) == []


def test_a_folder_of_the_systems_that_nobody_can_write(here: Here) -> None:
    folder = Path("/proc/self/run")
    line = check_one_line(_run(here, folder), 4)
    assert str(folder) in line and "another folder" in line


@pytest.mark.parametrize("largest_file", [1000, 6000, 20_000])
def test_a_disk_that_is_full_leaves_whole_files_and_the_run_goes_on(
    largest_file: int, tmp_path: Path, undisturbed: Path, here: Here
) -> None:
    """A limit on the size of files makes writing fail as a full disk does, for root as well."""
    folder, errors = tmp_path / "run", tmp_path / "errors"
    process = child([*WORDS, "--save-every", "0", "--out", str(folder)], errors, largest_file)
    process.join()
    line = check_one_line(Outcome(process.exitcode or 0, "", errors.read_text()), 4)
    assert "cannot write" in line and str(folder) in line and "free some space" in line
    assert [file for file in folder.rglob("*") if file.suffix == ".part"] == []
    assert _run(here, folder).code == 0
    assert contents(folder) == contents(undisturbed)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_log_on_a_full_disk(copy: Path, here: Here) -> None:
    (copy / "log.jsonl").unlink()
    (copy / "log.jsonl").symlink_to("/dev/full")
    line = check_one_line(_run(here, copy), 4)
    assert "log.jsonl" in line and "No space left on device" in line


@pytest.mark.parametrize("damage", [b"", b"nonsense", None, b"\xff" * 64], ids=str)
def test_a_damaged_checkpoint_is_named_and_can_be_deleted(
    damage: bytes | None, copy: Path, undisturbed: Path, here: Here
) -> None:
    file = copy / LEARNER
    file.write_bytes(file.read_bytes()[:-9] if damage is None else damage)
    line = check_one_line(_run(here, copy), 4)
    assert str(file) in line and "delete it" in line
    file.unlink()
    assert _run(here, copy).code == 0
    assert contents(copy) == contents(undisturbed)


def test_a_checkpoint_of_something_else_is_named(copy: Path, here: Here) -> None:
    file = copy / LEARNER
    shutil.copy(copy / "predictions" / "002.safetensors", file)
    line = check_one_line(_run(here, copy), 4)
    assert str(file) in line and "delete it" in line


def test_a_flipped_bit_in_a_checkpoint_is_noticed(copy: Path, here: Here) -> None:
    file = copy / LEARNER
    content = bytearray(file.read_bytes())
    content[-100] ^= 1
    file.write_bytes(content)
    line = check_one_line(_run(here, copy), 4)
    assert str(file) in line and "delete it" in line


def test_a_damaged_session_is_named_and_can_be_deleted(
    copy: Path, undisturbed: Path, here: Here
) -> None:
    (copy / LEARNER).unlink()
    file = copy / "checkpoints" / "session.safetensors"
    file.write_bytes(b"nonsense")
    line = check_one_line(_run(here, copy), 4)
    assert str(file) in line and "delete it" in line
    file.unlink()
    assert _run(here, copy).code == 0
    assert contents(copy) == contents(undisturbed)


def test_without_the_last_checkpoint_only_one_increment_is_learned_again(
    copy: Path, undisturbed: Path, here: Here
) -> None:
    (copy / LEARNER).unlink()
    assert _run(here, copy).code == 0
    assert contents(copy) == contents(undisturbed)
    *_, again = (copy / "log.jsonl").read_text().split('"event": "started"')
    assert {event["increment"] for event in read_log(copy) if event["event"] == "epoch"} == {
        0,
        1,
        2,
    }
    assert '"increment": 1' not in again and '"increment": 2' in again


@pytest.mark.parametrize("file", ["records.jsonl", "predictions/001.safetensors"])
def test_records_and_predictions_that_are_lost_are_written_again(
    file: str, copy: Path, undisturbed: Path, here: Here
) -> None:
    (copy / file).write_bytes(b"nonsense")
    (copy / LEARNER).unlink()
    (copy / "checkpoints" / "before.safetensors").unlink()
    assert _run(here, copy).code == 0
    assert contents(copy) == contents(undisturbed)


def test_damaged_records_are_written_again_from_the_checkpoint(
    copy: Path, undisturbed: Path, here: Here
) -> None:
    (copy / "records.jsonl").write_text("nonsense")
    assert _run(here, copy).code == 0
    assert contents(copy) == contents(undisturbed)


@pytest.mark.parametrize(
    "file",
    ["predictions/001.safetensors", "kept/000.jsonl", "checkpoints/before.safetensors"],
)
def test_damage_to_what_is_over_is_named_and_can_be_deleted(
    file: str, copy: Path, undisturbed: Path, here: Here
) -> None:
    content = bytearray((copy / file).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / file).write_bytes(content)
    line = check_one_line(_run(here, copy), 4)
    assert str(copy / file) in line and "delete it" in line
    (copy / file).unlink()
    assert _run(here, copy).code == 0
    whole = contents(undisturbed)
    del whole[file]
    assert contents(copy) == whole


def test_a_record_that_is_nowhere_is_one_line(copy: Path, here: Here) -> None:
    (copy / "predictions" / "001.safetensors").unlink()
    (copy / "records.jsonl").unlink()
    line = check_one_line(_run(here, copy), 4)
    assert "increment 1" in line and "run it again" in line


def test_a_changed_description_is_noticed_and_can_be_deleted(
    copy: Path, undisturbed: Path, here: Here
) -> None:
    file = copy / "experiment.json"
    file.write_text(file.read_text().replace('"recipe": "digits', '"recipe": "digitz'))
    line = check_one_line(_run(here, copy), 4)
    assert str(file) in line and "delete this file" in line
    file.unlink()
    assert _run(here, copy).code == 0
    assert contents(copy) == contents(undisturbed)


def test_without_its_description_a_folder_still_knows_its_experiment(
    copy: Path, here: Here
) -> None:
    (copy / "experiment.json").unlink()
    line = check_one_line(_run(here, copy, "seed=7"), 4)
    assert "holds another experiment (seed 1993 -> 7)" in line
    assert not (copy / "experiment.json").exists()


def test_a_line_of_the_log_that_was_cut_stands_alone(copy: Path, here: Here) -> None:
    log = copy / "log.jsonl"
    log.write_bytes(log.read_bytes()[:-20] + b"\xff")
    told = len(read_log(copy))
    assert _run(here, copy).code == 0
    assert [event["event"] for event in read_log(copy)][told:] == ["started", "finished"]


@pytest.mark.parametrize("command", ["run", "explain"])
@pytest.mark.parametrize("text", ["", '{"resolved"', "[1, 2]", "{}", "7"])
def test_a_damaged_experiment_is_named(text: str, command: str, copy: Path, here: Here) -> None:
    file = copy / "experiment.json"
    file.write_text(text)
    outcome = _run(here, copy) if command == "run" else here("explain", str(copy))
    line = check_one_line(outcome, 4)
    assert str(file) in line


def test_a_damaged_shared_base_is_named_and_can_be_deleted(tmp_path: Path, here: Here) -> None:
    words = ("run", "digits-finetune", *BRIEF, "--quiet", "--runs", str(tmp_path))
    assert here(*words).code == 0
    (base,) = (tmp_path / "bases").iterdir()
    base.write_bytes(b"nonsense")
    line = check_one_line(here(*words, "memory.per_class=1"), 4)
    assert str(base) in line and "delete it" in line
    base.unlink()
    assert here(*words, "memory.per_class=1").code == 0
    assert base.exists()


def test_what_a_kill_left_half_written_is_removed(
    copy: Path, undisturbed: Path, here: Here
) -> None:
    (copy / "checkpoints" / ".learner.safetensors.abc.part").write_bytes(b"half")
    assert _run(here, copy).code == 0
    assert contents(copy) == contents(undisturbed)


def test_a_folder_that_is_no_run_is_not_explained(tmp_path: Path, here: Here) -> None:
    line = check_one_line(here("explain", str(tmp_path)), 4)
    assert str(tmp_path) in line and "experiment.json" in line


def test_settings_cannot_be_laid_over_a_run(copy: Path, here: Here) -> None:
    line = check_one_line(here("explain", str(copy), "seed=3"), 2)
    assert "recipe" in line


def test_a_run_of_another_version_names_what_differs(copy: Path, here: Here) -> None:
    file = copy / "experiment.json"
    kept = read_experiment(copy)
    kept["resolved"]["method"]["of_old"] = 1
    file.write_text(described(kept))
    line = check_one_line(_run(here, copy), 4)
    assert "method.of_old 1 -> 'absent'" in line


def test_a_class_that_is_removed_between_runs_is_told_of(tmp_path: Path, here: Here) -> None:
    photographs = photos(tmp_path / "p", "red", "green", "blue", count=8)
    words = ("run", "digits-finetune", "data=folder", f"data.folder={photographs}", "data.size=8")
    words = (
        *words,
        "stream.base=1",
        "stream.increment=1",
        "training.epochs=1",
        "machine.precision=float32",
    )
    words = (*words, 'backbone={"name": "convnet", "width": 8}', "memory.per_class=1", "--quiet")
    words = (*words, "machine.threads=1", "--out", str(tmp_path / "run"))
    assert here(*words).code == 0
    shutil.rmtree(photographs / "red")
    line = check_one_line(here(*words), 3)
    assert "are not those that" in line and "put back what was there" in line


@pytest.mark.parametrize("part", ["network", "lenses", "exemplars"])
@pytest.mark.parametrize("content", [None, 7, {}, {"head.weights.0": "x"}], ids=str)
def test_a_checkpoint_that_somebody_forged_is_one_line(
    part: str, content: object, copy: Path, here: Here
) -> None:
    state = archive.load(copy / LEARNER)
    archive.save(copy / LEARNER, state | {part: content})
    line = check_one_line(_run(here, copy), 4)
    assert "what was saved is not of this network" in line
