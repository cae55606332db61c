"""What the documents show is run as it stands."""

from __future__ import annotations

import dataclasses
import re
import runpy
import subprocess
import sys
from pathlib import Path

import made_model
import made_photographs
import pytest
from PIL import Image

from remanence.cli.main import COMMANDS, main
from remanence.core import choices
from remanence.experiment import Experiment
from remanence.reproduce.ledger import Ledger
from remanence.reproduce.pages import places
from remanence.reproduce.pages.book import speaker
from remanence.reproduce.paper import table, tables

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHORT = ["stream.sizes=2,1", "training.epochs=1", "memory.per_class=1", "machine.threads=1"]


def _python_blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_the_method_and_the_effect_of_the_guide_run_from_the_current_folder(tmp_path: Path) -> None:
    for block in _python_blocks(ROOT / "docs" / "adding.md"):
        name = block.split("\n", 1)[0].removeprefix("# ")
        (tmp_path / name).write_text(block, encoding="utf-8")
    choice = ["method=keep_features", "method.strength=2", "effects=focused,momentum"]
    command = [sys.executable, "-m", "remanence.cli.main", "run", "digits-finetune", "--json"]
    done = subprocess.run(
        [*command, *choice, *SHORT], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert '"cnn+momentum"' in done.stdout


def test_the_readme_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = _python_blocks(ROOT / "README.md")
    assert len(block.splitlines()) <= 14
    exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "runs").is_dir()


def test_the_example_of_an_own_loop_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "own_loop.py"))["main"](epochs=1)
    assert "cnn+momentum" in capsys.readouterr().out


def test_an_exported_file_is_used_as_its_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # a command adds the folder it is given in
    made_model.model(tmp_path / "birds.model")
    made_photographs.save(tmp_path / "robin.jpg", seed=3)
    for name in ("birds.onnx", "birds.safetensors"):
        assert main(["export", "birds.model", name]) == 0
    assert main(["predict", "birds.model", "robin.jpg", "--top", "1", "--format", "csv"]) == 0
    *_, predicted = capsys.readouterr().out.splitlines()
    for block in _python_blocks(ROOT / "docs" / "export.md"):
        exec(compile(block, "export.md", "exec"), {})
    answer, tensors, rows = capsys.readouterr().out.splitlines()
    *_, name, probability = predicted.split(",")
    assert answer.split()[0] == name
    assert float(answer.split()[1]) == pytest.approx(float(probability), abs=0.02)
    assert tensors == "['wren', 'owl', 'été'] torch.Size([3, 8])"
    assert rows.startswith("tensor([[") and rows.count(",") == 2


def test_what_the_documents_say_of_runs_is_what_the_ledger_says() -> None:
    """Where it is not: remanence reproduce --pages."""
    say = speaker(Ledger(ROOT / "results" / "ledger"))
    pages = places.documents(ROOT / "docs")
    assert {page.stem for page in pages} >= {"results", "lucir", "podnet", "tpcil"}
    for page in pages:
        assert places.filled(page, say) == page.read_text(encoding="utf-8"), page


def test_the_page_on_python_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("photos/red", "more-photos/green", "photos/blue")):
        (tmp_path / name).mkdir(parents=True)
        for one in range(4):
            colour = [40 * one if band != number else 255 - 20 * one for band in range(3)]
            Image.new("RGB", (320, 300), tuple(colour)).save(tmp_path / name / f"{one}.png")
    Image.new("RGB", (320, 300), "blue").save(tmp_path / "new.jpg")
    known: dict[str, object] = {}
    for block in _python_blocks(ROOT / "docs" / "python.md"):
        exec(compile(block, "python.md", "exec"), known)
    classes, score, shape, same, names, measured, said = capsys.readouterr().out.splitlines()
    assert classes == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
    assert float(score) > 0.8
    assert (shape, same) == ("(1, 10)", "True")
    assert names.startswith("('blue', 'red') ")
    assert measured.startswith("2 ")
    assert said.startswith("blue [('blue', 0.")


@pytest.mark.parametrize("name", choices.names("methods"))
def test_every_method_has_a_page_with_its_settings_and_its_runs(name: str) -> None:
    text = (ROOT / "docs" / "methods" / f"{name}.md").read_text(encoding="utf-8")
    settings = [field.name for field in dataclasses.fields(choices.choose("methods", name))]
    assert [setting for setting in settings if f"`{setting}`" not in text] == []
    assert f"<!-- ledger: method {name} -->" in text


def test_the_page_of_a_method_has_what_is_printed_for_it() -> None:
    for name in ("sota", "no-replay"):
        for cell in tables()[name].cells:
            page = ROOT / "docs" / "methods" / f"{cell.experiment.method.name}.md"
            if cell.paper is not None:
                assert f"{cell.paper:.2f}" in page.read_text(encoding="utf-8"), cell.row.label


def test_the_table_of_the_guide_is_one(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "mine.toml").write_text(block, encoding="utf-8")
    wide = table(str(tmp_path / "mine.toml")).row("wide")
    assert [cell.row.name for cell in table(str(tmp_path / "mine.toml")).cells] == ["mer", "wide"]
    assert Experiment.of(wide.tree, wide.set).tree()["method"]["margin"] == 1
    assert [name for name in tables() if f"`{name}`" not in text] == []


def test_the_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"remanence {name}" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
