"""From folders of photographs to a model that names them, through the command line."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import Here, Outcome, check_one_line
from made_classes import BACKBONE, photos

from remanence.model.folder import ModelFolder


def taught(here: Here, model: Path, folder: Path, *more: str) -> dict[str, Any]:
    """What a lesson came to."""
    chosen = () if (model / "current").exists() else BACKBONE
    outcome = here("learn", str(model), str(folder), *chosen, "--own-code", "--json", *more)
    assert outcome.code == 0, outcome.err
    described: dict[str, Any] = json.loads(outcome.out)
    return described


@pytest.fixture
def model(tmp_path: Path, here: Here) -> Path:
    """A model of three colours, of which one came later."""
    taught(here, tmp_path / "m", photos(tmp_path / "a", "red", "green"), "--keep", "2")
    taught(here, tmp_path / "m", photos(tmp_path / "b", "blue"))
    return tmp_path / "m"


def test_classes_are_learned_added_and_remembered(model: Path, tmp_path: Path, here: Here) -> None:
    outcome = here(
        "evaluate",
        str(model),
        str(photos(tmp_path / "t", "red", "green", "blue", first=50)),
        "--own-code",
        "--json",
    )
    found = json.loads(outcome.out)
    assert found["accuracy"] == 100
    assert found["learned_in"] == {"1": 100, "2": 100}
    described = ModelFolder(model).describe()
    assert described.names == ("green", "red", "blue")
    assert [one.version for one in described.classes] == [1, 1, 2]
    assert [one.photographs for one in described.classes] == [6, 6, 6]
    assert described.measured.forgotten == 0
    assert [one.label for one in described.kept] == [0, 0, 1, 1, 2, 2]


def test_what_is_printed_says_what_was_forgotten_and_what_is_kept(
    model: Path, tmp_path: Path, here: Here
) -> None:
    more = photos(tmp_path / "c", "red", "white", first=20)
    out = here("learn", str(model), str(more), "--own-code", "--quiet").out
    assert "version 3, 4 classes, 1 of them new" in out
    assert "old classes 100.0 % 100.0 % 0.0 points" in " ".join(out.split())
    assert "kept for later: 8 photographs" in out
    assert "\nnew classes: white (6)\nmore photographs of known classes: red (6)\n" in out
    classes = {one.name: one for one in ModelFolder(model).describe().classes}
    assert (classes["red"].photographs, classes["red"].version) == (12, 1)


def test_photographs_that_are_known_are_not_learned_again(
    model: Path, tmp_path: Path, here: Here
) -> None:
    outcome = here("learn", str(model), str(tmp_path / "b"), "--own-code")
    assert outcome.code == 0
    assert "nothing is new" in outcome.err
    assert outcome.out == f"{model}: nothing was learned; version 2 stays in use\n"
    assert ModelFolder(model).versions == [1, 2]
    photos(tmp_path / "b", "blue", count=4, first=30)
    outcome = here("learn", str(model), str(tmp_path / "b"), "--own-code")
    assert "known already: 6 photographs" in outcome.err
    assert ModelFolder(model).describe().classes[2].photographs == 10


def test_a_budget_in_bytes_is_shared_by_the_classes(
    model: Path, tmp_path: Path, here: Here
) -> None:
    size = max(one.bytes for one in ModelFolder(model).describe().kept)
    budget = f"{3.5 * size / 1000:.3f}kB"
    described = taught(here, model, photos(tmp_path / "c", "grey"), "--keep", budget)
    kept = described["kept"]
    assert sum(one["bytes"] for one in kept) <= 3.5 * size
    assert [one["label"] for one in kept] == [0, 1, 2]
    assert described["settings"]["keep"] == budget
    assert taught(here, model, photos(tmp_path / "d", "white"), "--keep", "0")["kept"] == []


def test_a_test_folder_is_measured_on_and_never_learned(tmp_path: Path, here: Here) -> None:
    photos(tmp_path / "p" / "train", "red", "green", "blue")
    photos(tmp_path / "p" / "test", "red", "green", "blue", count=3, first=60)
    described = taught(here, tmp_path / "m", tmp_path / "p")
    counts = [(one["photographs"], one["held_out"]) for one in described["classes"]]
    assert counts == [(6, 3)] * 3
    assert described["measured"]["all"] == 100


def refused(here: Here, model: Path, tmp_path: Path) -> Outcome:
    """A lesson after which two classes look alike."""
    grey = photos(tmp_path / "r" / "x", "red", count=6, first=80)
    (grey / "red").rename(tmp_path / "r" / "like red")
    (tmp_path / "r" / "x").rmdir()
    words = ("--max-drop", "0", "--own-code", "--quiet", "--keep", "0")
    return here("learn", str(model), str(tmp_path / "r"), *words)


def test_the_gate_keeps_a_version_that_forgets_but_does_not_use_it(
    tmp_path: Path, here: Here
) -> None:
    model = tmp_path / "m"
    taught(here, model, photos(tmp_path / "a", "red", "green", count=20))
    outcome = refused(here, model, tmp_path)
    assert outcome.code == 5
    assert "version 2 is not taken into use: old classes lose" in outcome.err
    assert "recognised less often than before" in outcome.out
    folder = ModelFolder(model)
    assert (folder.current, folder.versions) == (1, [1, 2])
    assert "refused" in here("history", str(model)).out
    assert here("rollback", str(model), "2").code == 0
    assert folder.current == 2
    back = here("rollback", str(model))
    assert "version 1 is in use (2 classes), not 2" in back.out
    assert "versions deleted: 2; in use: 1" in here("prune", str(model)).out


def test_history_info_and_prune(model: Path, here: Here) -> None:
    history = json.loads(here("history", str(model), "--json").out)
    assert [(one["version"], one["parent"], one["current"]) for one in history] == [
        (1, None, False),
        (2, 1, True),
    ]
    info = here("info", str(model), "--kept").out
    assert all(name in info for name in ("green", "red", "blue", "made_classes:Colours"))
    listed = [line.split()[0] for line in info.splitlines() if ".jpg" in line]
    assert len(listed) == 6 and all(Path(one).is_file() for one in listed)
    assert json.loads(here("info", str(model), "--at", "1", "--json").out)["version"] == 1
    here("prune", str(model))
    assert ModelFolder(model).versions == [2]


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_predictions_are_a_table_json_or_csv(
    form: str, model: Path, tmp_path: Path, here: Here
) -> None:
    shown = photos(tmp_path / "t", "red", count=2, first=70) / "red"
    outcome = here("predict", str(model), str(shown), "--own-code", "--format", form, "--top", "2")
    assert (outcome.code, outcome.err) == (0, "")
    if form == "table":
        rows = outcome.out.splitlines()[2:]
        assert [row.split()[-3] for row in rows] == ["red", rows[1].split()[-3]] * 2
        return
    read = _from_json if form == "json" else _from_csv
    found = read(outcome.out)
    assert [file for file, _ in found] == sorted(str(one) for one in shown.iterdir())
    for _, ranked in found:
        assert len(ranked) == 2 and ranked[0][0] == "red"
        assert 1 >= ranked[0][1] > ranked[1][1] >= 0


def _from_json(text: str) -> list[tuple[str, list[tuple[str, float]]]]:
    return [
        (one["file"], [(p["class"], p["probability"]) for p in one["predictions"]])
        for one in json.loads(text)
    ]


def _from_csv(text: str) -> list[tuple[str, list[tuple[str, float]]]]:
    found: dict[str, list[tuple[str, float]]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        found.setdefault(row["file"], []).append((row["class"], float(row["probability"])))
    return list(found.items())


def test_a_photograph_may_come_on_standard_input(
    model: Path, tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shown,) = (photos(tmp_path / "t", "blue", count=1, first=70) / "blue").iterdir()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(shown.read_bytes())))
    outcome = here("predict", str(model), "-", "--own-code", "--format", "csv", "--top", "1")
    assert outcome.out.splitlines()[1].startswith("-,1,blue,")


def test_what_cannot_be_read_does_not_stop_the_others(
    model: Path, tmp_path: Path, here: Here
) -> None:
    shown = photos(tmp_path / "t", "blue", count=2, first=70) / "blue"
    (shown / "a.png").write_text("no image")
    outcome = here("predict", str(model), str(shown), "--own-code", "--format", "csv")
    assert outcome.code == 3
    assert len(outcome.out.splitlines()) == 1 + 2 * 3
    assert len(outcome.err.splitlines()) == 1 and "a.png" in outcome.err
    line = check_one_line(here("predict", str(model), "nowhere.jpg", "--own-code"), 3)
    assert "nowhere.jpg" in line


def test_a_network_that_is_not_pretrained_learns_first(tmp_path: Path, here: Here) -> None:
    folder = photos(tmp_path / "a", "red", "green", "blue")
    words = ("--backbone", "convnet", "--side", "8", "--epochs", "6", "--json")
    outcome = here("learn", str(tmp_path / "m"), str(folder), *words)
    assert outcome.code == 0, outcome.err
    assert not (tmp_path / "m" / "training").exists()
    assert taught(here, tmp_path / "m", photos(tmp_path / "b", "white"))["version"] == 2
    outcome = here(
        "evaluate",
        str(tmp_path / "m"),
        str(photos(tmp_path / "t", "red", "white", first=50)),
        "--json",
    )
    assert json.loads(outcome.out)["accuracy"] > 60
