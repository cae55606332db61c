"""A small table of one's own, from the plan to the pages; and what is wrong with words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Here, check_one_line

SHORT = 'backbone = { name = "convnet", width = 8 }, stream = { sizes = [3, 2, 2] }'
TABLE = f"""
tolerance = 200

[parts]
lucir = {{ method = "lucir", effects = {{ momentum = {{}} }} }}

[tables.mine]
title = "Digits"
about = "Average incremental accuracy."
figure = "replay"
columns = [
  {{ name = "r0", label = "R = 0", set = {{ {SHORT}, memory = {{ per_class = 0 }} }} }},
  {{ name = "r2", label = "R = 2", set = {{ {SHORT}, memory = {{ per_class = 2 }} }} }},
]
rows = [
  {{ name = "lucir", label = "LUCIR", part = "lucir", paper = [60, 70] }},
  {{ name = "mer", label = "LUCIR+MER", part = "lucir", reading = "cnn+momentum" }},
  {{ name = "gain", label = "gain", compare = "gain", of = ["mer", "lucir"], paper = ["", 5] }},
]
"""
HERE = ("machine.threads=1", "machine.kernels=plain")
WORDS = ("reproduce", "mine.toml", *HERE, "--epochs-scale", "0.1")


@pytest.fixture
def mine() -> Path:
    Path("mine.toml").write_text(TABLE)
    return Path("mine.toml")


def test_from_plan_to_pages(here: Here, mine: Path) -> None:
    plan = json.loads(here(*WORDS, "--list", "--json").out)
    assert [run["state"] for run in plan["runs"]] == ["to run"] * 2
    assert [run["cells"] for run in plan["runs"]] == [
        [f"LUCIR | R = {kept}", f"LUCIR+MER | R = {kept}"] for kept in (0, 2)
    ]
    assert plan["seconds"] == pytest.approx(sum(run["seconds"] for run in plan["runs"])) != 0
    assert not Path("runs").exists()

    shown = here(*WORDS, "--columns", "r2", "--quiet")
    assert shown.code == 0, shown.err
    assert "not run" not in shown.out and "paper 70.00" in shown.out
    assert "2 of 20 epochs" in shown.out
    assert [run["state"] for run in json.loads(here(*WORDS, "--list", "--json").out)["runs"]] == [
        "to run",
        "in the ledger",
    ]
    cells = json.loads(here(*WORDS, "--columns", "r2", "--json").out)["cells"]
    mer, lucir, gain = (next(c for c in cells if c["row"] == n) for n in ("mer", "lucir", "gain"))
    assert gain["mean"] == pytest.approx(mer["mean"] - lucir["mean"])
    assert lucir["difference"] == pytest.approx(lucir["mean"] - 70)
    assert lucir["verdict"] == "" and lucir["remarks"] == ["2 of 20 epochs"]

    assert Path("results/figures/replay.svg").read_text().startswith("<?xml")
    written = here("reproduce", "--pages").out.split()
    assert written == ["docs/results.md", "docs/results.html"]
    assert "2 of 20 epochs" in Path("docs/results.md").read_text()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["sota", "--rows", "r6-*"], "'r6-*' is none of the rows of sota"),
        (["sota", "--epochs-scale", "0"], "--epochs-scale: 0.0 is no factor above 0"),
        (["sota", "--epochs-scale", "nan"], "no factor above 0"),
        (["sota", "--seeds", "one"], "'one' is no list of seeds, say 0,1,2"),
        (["sota", "memory.per_class=3"], "only machine.* can be set here"),
        (["sotta"], "no table is called 'sotta'"),
        (["there/is/none.toml"], "cannot read there/is/none.toml: No such file"),
    ],
)
def test_wrong_words_are_one_line(words: list[str], line: str, here: Here) -> None:
    assert line in check_one_line(here("reproduce", *words), 2)


def test_pages_where_no_folder_can_be_are_one_line(here: Here) -> None:
    Path("docs").write_text("a file")
    assert "docs" in check_one_line(here("reproduce", "--pages"), 4)


def test_an_overview_counts_cells(here: Here) -> None:
    counts = json.loads(here("reproduce", "--json").out)
    assert counts["sota"]["cells"] > 200
    assert {one["measured"] for one in counts.values()} == {0}
