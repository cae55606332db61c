"""The page of a model: versions, forgetting, mistakes, classes, photographs that are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Here, check_one_line
from made_classes import BACKBONE, photos
from test_report_page import Page, page_of

from remanence.model.folder import ModelFolder

SECTIONS = [
    "Versions",
    "Accuracy matrix",
    "Old against new",
    "Classes",
    "Photographs that are kept",
    "Settings and surroundings",
]


@pytest.fixture
def model(tmp_path: Path, here: Here) -> Path:
    """A model of three colours, of which one came later and is shown once more as another."""
    words = ("--own-code", "--quiet", "--keep", "2")
    first = photos(tmp_path / "a", "red", "green", count=10)
    assert here("learn", str(tmp_path / "m"), str(first), *BACKBONE, *words).code == 0
    second = photos(tmp_path / "b", "red", count=10, first=70)
    (second / "red").rename(second / "like <b>red")
    assert here("learn", str(tmp_path / "m"), str(second), *words).code == 0
    return tmp_path / "m"


def test_it_is_whole_and_says_what_the_model_says(model: Path, here: Here, tmp_path: Path) -> None:
    text, page = page_of(here, tmp_path / "page.html", str(model))
    assert [heading for heading in page.headings if heading in SECTIONS] == SECTIONS
    assert all(one.startswith(("#", "data:image/")) for one in page.loaded)
    assert "://" not in text and page.tags.count("script") == 1 and "b" not in page.tags
    described = ModelFolder(model).describe()
    told = described.measured
    row = [
        f"{one:.1f}" for one in (told.all, told.old, told.new, told.forgotten) if one is not None
    ]
    assert page.cells[page.cells.index("in use") - 6 : page.cells.index("in use") - 2] == row
    assert page.tags.count("img") == 3
    assert "like <b>red" in page.cells


def test_what_is_taken_for_what_are_the_held_out_photographs(
    model: Path, here: Here, tmp_path: Path
) -> None:
    text, page = page_of(here, tmp_path / "page.html", str(model), "--no-images")
    described = ModelFolder(model).describe()
    held = sum(one.held_out for one in described.classes)
    assert held == 6
    assert "old (4)" in text and "new (2)" in text
    wrong = round(held * (100 - (described.measured.all or 0)) / 100)
    commonest = [cell for cell in page.cells if cell.isdecimal()]
    assert wrong == 0 or str(wrong) in commonest
    assert "photographs were not asked for" in text and "img" not in page.tags


def test_it_is_put_into_the_folder_and_the_model_learns_on(
    model: Path, here: Here, tmp_path: Path
) -> None:
    assert here("report", str(model), "--quiet").out == f"{model}/report.html\n"
    more = photos(tmp_path / "c", "blue")
    assert here("learn", str(model), str(more), "--own-code", "--quiet").code == 0
    here("prune", str(model))
    here("report", str(model), "--quiet")
    Page((model / "report.html").read_text())
    assert ModelFolder(model).versions == [3]


def test_a_model_that_keeps_nothing_has_a_page_too(here: Here, tmp_path: Path) -> None:
    folder = photos(tmp_path / "a", "red", "green")
    words = ("--own-code", "--quiet", "--keep", "0", *BACKBONE)
    assert here("learn", str(tmp_path / "m"), str(folder), *words).code == 0
    text, _ = page_of(here, tmp_path / "page.html", str(tmp_path / "m"))
    assert "No photograph is kept." in text and "All classes were learned at once" in text
    assert "Accuracy" in text


def test_what_is_damaged_or_asked_wrongly_is_said(model: Path, here: Here, tmp_path: Path) -> None:
    assert "alone" in check_one_line(here("report", str(model), str(tmp_path)), 2)
    assert "alone" in check_one_line(here("report", str(model), "--readings", "cnn"), 2)
    version = ModelFolder(model).folder(2)
    (version / "memory.safetensors").write_bytes(b"nothing of ours")
    for kept in (model / "kept").iterdir():
        kept.unlink()
    text, _ = page_of(here, tmp_path / "page.html", str(model))
    assert text.count("Not shown: ") == 2
    path = version / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    assert "later release" in check_one_line(here("report", str(model)), 4)
