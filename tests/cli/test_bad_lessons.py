"""Photographs and folders that cannot be learned from; kills in the middle; two at once."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Here, Outcome, check_one_line, child
from made_classes import BACKBONE, photos

from remanence.core import files
from remanence.model.folder import ModelFolder

WORDS = (*BACKBONE, "--own-code", "--quiet")


@pytest.fixture
def model(tmp_path: Path, here: Here) -> Path:
    """A model of two colours."""
    folder = photos(tmp_path / "a", "red", "green")
    assert here("learn", str(tmp_path / "m"), str(folder), *WORDS).code == 0
    return tmp_path / "m"


def learn(here: Here, tmp_path: Path, folder: Path, model: str = "new") -> Outcome:
    return here("learn", str(tmp_path / model), str(folder), *WORDS)


def nothing(root: Path) -> None:
    pass


def no_folders(root: Path) -> None:
    photos(root, "red")
    for file in (root / "red").iterdir():
        file.rename(root / file.name)
    (root / "red").rmdir()


def one_class(root: Path) -> None:
    photos(root, "red")


def one_photograph(root: Path) -> None:
    photos(root, "red", "green")
    photos(root, "blue", count=1)


def nothing_readable(root: Path) -> None:
    photos(root, "red", "green")
    for file in (root / "red").iterdir():
        file.write_text("no image")


def broken_behind_the_header(root: Path) -> None:
    photos(root, "red", "green")
    for file in (root / "red").iterdir():
        file.write_bytes(file.read_bytes()[:60])


def a_test_class_too_many(root: Path) -> None:
    photos(root / "train", "red", "green")
    photos(root / "test", "red", "green", "blue", first=50)


BAD = {
    nothing: "has no class folders",
    no_folders: "has no class folders",
    one_class: "only the class 'red'",
    one_photograph: "class 'blue' in .* has 1 photograph of use",
    nothing_readable: "class 'red' in .* has no photographs of use",
    broken_behind_the_header: "class 'red' has no photograph that can be read",
    a_test_class_too_many: "blue is a class that .*train/? has not",
}


@pytest.mark.parametrize(("make", "said"), BAD.items(), ids=lambda x: getattr(x, "__name__", ""))
def test_photographs_that_cannot_be_learned_from(
    make: Callable[[Path], None], said: str, tmp_path: Path, here: Here
) -> None:
    (tmp_path / "p").mkdir()
    make(tmp_path / "p")
    outcome = learn(here, tmp_path, tmp_path / "p")
    line = check_one_line(outcome, 3)
    assert re.search(said, line), line
    assert not ModelFolder(tmp_path / "new").exists


def test_a_folder_that_is_not_there(tmp_path: Path, here: Here) -> None:
    line = check_one_line(learn(here, tmp_path, tmp_path / "p"), 3)
    assert "there is no folder" in line


def test_some_that_cannot_be_used_are_left_out_and_named(tmp_path: Path, here: Here) -> None:
    root = photos(tmp_path / "p", "red", "green", "blue")
    (root / "red" / "broken.png").write_text("no image")
    cut = root / "red" / "000.png"
    cut.write_bytes(cut.read_bytes()[:60])
    shutil.copy(root / "red" / "003.png", root / "red" / "again.png")
    shutil.copy(root / "green" / "003.png", root / "blue" / "also.png")
    outcome = here("learn", str(tmp_path / "new"), str(root), *WORDS[:-1])
    assert outcome.code == 0, outcome.err
    for what in (
        "cannot be read as images: 1 photograph (red/broken.png",
        "cannot be read as an image: red/000.png",
        "there more than once: 1 photograph (red/again.png)",
        "in more than one class: 2 photographs (blue/also.png; green/003.png)",
    ):
        assert what in outcome.err
    classes = {
        one.name: one.photographs for one in ModelFolder(tmp_path / "new").describe().classes
    }
    assert classes == {"red": 5, "green": 5, "blue": 6}


def test_a_photograph_that_was_another_class_before_is_left_out(
    model: Path, tmp_path: Path, here: Here
) -> None:
    root = photos(tmp_path / "p", "blue")
    shutil.copy(tmp_path / "a" / "red" / "000.png", root / "blue" / "red.png")
    outcome = here("learn", str(model), str(root), "--own-code")
    assert "as another class before: 1 photograph (blue/red.png)" in outcome.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--keep", "many"), "keep: 'many' is neither a number"),
        (("--max-drop", "-1"), "max_drop"),
        (("--backbone", "efficientnet"), "efficientnet_lite0"),
        (("--backbone", "made_classes:Nothing"), "cannot be made"),
        (("--side", "0"), "side"),
    ],
)
def test_wishes_that_cannot_be_met(
    words: tuple[str, str], said: str, tmp_path: Path, here: Here
) -> None:
    outcome = here("learn", str(tmp_path / "new"), str(photos(tmp_path / "p", "red")), *words)
    assert said in check_one_line(outcome, 2)


@pytest.mark.parametrize("words", [("--backbone", "convnet"), ("--side", "9")])
def test_a_model_keeps_its_network(
    words: tuple[str, str], model: Path, tmp_path: Path, here: Here
) -> None:
    folder = photos(tmp_path / "p", "blue")
    outcome = here("learn", str(model), str(folder), "--own-code", *words)
    assert "another folder" in check_one_line(outcome, 2)


def test_code_of_its_own_is_run_only_when_trusted(model: Path, tmp_path: Path, here: Here) -> None:
    for words in (("learn", str(model), str(tmp_path / "a")), ("predict", str(model), "x.png")):
        assert "--own-code" in check_one_line(here(*words), 4)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, here: Here) -> None:
    folder = photos(tmp_path / "p", "red", "green")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    line = check_one_line(learn(here, tmp_path, folder, "mine"), 4)
    assert "thesis.txt" in line
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    assert "a file" in check_one_line(learn(here, tmp_path, folder, "mine/thesis.txt"), 4)
    for command in ("info", "history", "rollback", "prune"):
        assert "is no model" in check_one_line(here(command, str(tmp_path / "mine")), 4)


def test_a_class_that_nobody_knows_is_named(model: Path, tmp_path: Path, here: Here) -> None:
    both = photos(tmp_path / "t", "red", "white", first=50)
    outcome = here("evaluate", str(model), str(both), "--own-code", "--quiet")
    assert "left out (no class): 1: white" in outcome.out
    shutil.rmtree(both / "red")
    line = check_one_line(here("evaluate", str(model), str(both), "--own-code", "--quiet"), 3)
    assert "no folder" in line


def test_a_learner_that_is_killed_leaves_the_old_version_and_goes_on(
    model: Path, tmp_path: Path, here: Here
) -> None:
    folder = photos(tmp_path / "b", "blue", "grey", count=30)
    Path("stumble").write_text("2")
    process = child(["learn", str(model), str(folder), *WORDS], tmp_path / "errors")
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert ModelFolder(model).current == 1
    assert cached() == 12 + 2 * 16, "what was seen before the kill is not lost"
    Path("stumble").write_text("3")
    shown = photos(tmp_path / "t", "red", count=1, first=70)
    assert here("predict", str(model), str(shown), "--own-code").code == 0
    assert learn(here, tmp_path, folder, "m").code == 0, "28 are left, two batches"
    assert ModelFolder(model).current == 2


def cached() -> int:
    """How many photographs are remembered of the network of these tests."""
    total = 0
    for file in (files.cache_folder() / "features").glob("*.sqlite"):
        store = sqlite3.connect(file)
        total += store.execute("SELECT count(*) FROM seen").fetchone()[0]
        store.close()
    return total


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_cache_that_is_damaged_is_as_if_it_were_empty(
    model: Path, tmp_path: Path, here: Here
) -> None:
    (file,) = (files.cache_folder() / "features").glob("*.sqlite")
    file.write_text("nothing of the kind")
    assert learn(here, tmp_path, photos(tmp_path / "b", "blue"), "m").code == 0
    shutil.rmtree(files.cache_folder())
    files.cache_folder().write_text("a file")
    assert learn(here, tmp_path, photos(tmp_path / "c", "grey"), "m").code == 0


def test_a_disk_that_is_full_is_one_line_and_changes_nothing(
    model: Path, tmp_path: Path, here: Here
) -> None:
    folder = photos(tmp_path / "b", "blue")
    before = json.loads(here("info", str(model), "--json").out)
    process = child(["learn", str(model), str(folder), *WORDS], tmp_path / "errors", 300)
    process.join()
    errors = (tmp_path / "errors").read_text()
    assert process.exitcode == 4, errors
    assert errors.startswith("remanence: cannot write ") and len(errors.splitlines()) == 1
    assert json.loads(here("info", str(model), "--json").out) == before
    assert learn(here, tmp_path, folder, "m").code == 0


def test_two_learners_at_once_are_refused(model: Path, tmp_path: Path, here: Here) -> None:
    folder = photos(tmp_path / "b", "blue")
    with ModelFolder(model).changing():
        line = check_one_line(learn(here, tmp_path, folder, "m"), 4)
    assert "another process" in line
