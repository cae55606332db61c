"""What runs came to, in one table, as JSON, and as a picture."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import Here, check_one_line

from remanence.metrics import readings, summarise
from remanence.records import read_records


@pytest.fixture
def cut(undisturbed: Path, tmp_path: Path) -> Path:
    """A run that is not finished yet."""
    folder = Path(shutil.copytree(undisturbed, tmp_path / "cut"))
    lines = (folder / "records.jsonl").read_text().splitlines(keepends=True)
    (folder / "records.jsonl").write_text("".join(lines[:2]))
    return folder


def test_every_reading_of_every_run_has_a_row(undisturbed: Path, cut: Path, here: Here) -> None:
    outcome = here("show", str(undisturbed), str(cut))
    assert (outcome.code, outcome.err) == (0, "")
    names = readings(read_records(undisturbed / "records.jsonl"))
    rows = [line.split()[0] for line in outcome.out.splitlines() if line.strip()]
    assert [row for row in rows if row in names] == names * 2
    assert rows.index("run") < rows.index("cut")


def test_what_must_be_said_of_a_method_stands_over_its_rows(here: Here, tmp_path: Path) -> None:
    caveat = "[re-implementation from a description]"
    settings = ["stream.sizes=2,1", "training.epochs=1", "memory.per_class=2"]
    ran = here("run", "digits-finetune", "method=tpcil", *settings, "--out", str(tmp_path / "ours"))
    shown = here("show", str(tmp_path / "ours"), "--picture", str(tmp_path / "ours.svg"))
    for outcome in (ran, shown):
        assert f"ours {caveat}" in outcome.out
    title = (tmp_path / "ours.svg").read_text()  # wrapped, each line a comment of its own
    assert "<!-- ours [re-implementation" in title


def test_as_json_it_is_what_the_records_come_to(undisturbed: Path, cut: Path, here: Here) -> None:
    found = json.loads(here("show", str(undisturbed), str(cut), "--json").out)
    for folder in (undisturbed, cut):
        records = read_records(folder / "records.jsonl")
        assert list(found[str(folder)]) == readings(records)
        for name, summary in found[str(folder)].items():
            assert tuple(summary["curve"]) == summarise(records, name).curve


def test_only_the_readings_that_are_wanted(undisturbed: Path, here: Here) -> None:
    outcome = here("show", str(undisturbed), "--json", "--readings", "nme", "cnn")
    assert list(json.loads(outcome.out)[str(undisturbed)]) == ["nme", "cnn"]


def test_a_picture(undisturbed: Path, cut: Path, tmp_path: Path, here: Here) -> None:
    picture = tmp_path / "curves.svg"
    assert here("show", str(undisturbed), str(cut), "--picture", str(picture)).code == 0
    assert "<svg" in picture.read_text()


def test_a_reading_that_there_is_not(undisturbed: Path, here: Here) -> None:
    line = check_one_line(here("show", str(undisturbed), "--readings", "cnnn"), 2)
    assert "'cnnn'" in line and "did you mean 'cnn'" in line


@pytest.mark.parametrize("text", [None, "", "nonsense\n"], ids=["nothing", "empty", "damaged"])
def test_a_run_without_records_is_named(text: str | None, tmp_path: Path, here: Here) -> None:
    if text is not None:
        (tmp_path / "records.jsonl").write_text(text)
    assert str(tmp_path) in check_one_line(here("show", str(tmp_path)), 4)


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [("nowhere/curves.svg", 4, "nowhere"), ("curves.xyz", 2, "svg"), ("curves", 2, "svg")],
)
def test_a_picture_that_cannot_be_drawn(
    name: str, code: int, told: str, undisturbed: Path, tmp_path: Path, here: Here
) -> None:
    (tmp_path / "file").touch()
    picture = tmp_path / "file" / name if "/" in name else tmp_path / name
    outcome = here("show", str(undisturbed), "--json", "--picture", str(picture))
    assert outcome.code == code
    assert "Traceback" not in outcome.err and len(outcome.err.splitlines()) == 1
    assert told in outcome.err
