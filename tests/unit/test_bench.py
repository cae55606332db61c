"""The table of speed: medians and ratios, what is kept of them, and one benchmark in brief."""

import json
import time
from pathlib import Path

import pytest
import torch

from remanence.bench.base import Row, Spread, at_least, at_most
from remanence.bench.shared import plain as plain_module
from remanence.bench.shared.apart import peak_of
from remanence.bench.shared.material import made_splits
from remanence.bench.shared.plain import Plain
from remanence.bench.shared.sides import alternated
from remanence.bench.shared.table import Measured, as_markdown, cells
from remanence.cli.main import main
from remanence.core import choices
from remanence.core.errors import FolderError

ROOT = Path(__file__).parents[2]
CPU = torch.device("cpu")


def row(**changes: object) -> Row:
    usual = {"what": "this", "value": Spread.of([2.0]), "unit": "s", "against": "that"}
    return Row(**usual | {"ratio": Spread.of([1.1, 1.0, 1.3])} | changes)


def test_sides_take_turns() -> None:
    calls: list[str] = []
    sides = {name: lambda name=name: calls.append(name) for name in "ab"}
    found = alternated(sides, 3, CPU)
    assert calls == list("ababab")
    assert {name: len(seconds) for name, seconds in found.seconds.items()} == {"a": 3, "b": 3}


def test_a_ratio_is_that_of_neighbouring_turns() -> None:
    """Both sides became ten times slower in the middle: the ratio does not notice."""
    waits = iter([0.02, 0.01, 0.2, 0.1, 0.02, 0.01])
    sides = {name: lambda: time.sleep(next(waits)) for name in "ab"}
    assert alternated(sides, 3, CPU).ratio("a", "b").median == pytest.approx(2, rel=0.4)


@pytest.mark.parametrize(
    ("target", "ratio", "is_met"),
    [(at_most(1.03), 1.02, True), (at_most(1.03), 1.04, False), (at_least(6), 5.9, False)],
)
def test_a_target_is_met_by_the_ratio_or_by_the_value(target, ratio, is_met) -> None:
    assert row(ratio=Spread.of([ratio]), target=target).is_met is is_met
    assert row(ratio=None, value=Spread.of([ratio]), target=target).is_met is is_met
    assert row().is_met is None


def test_what_was_measured_can_be_read_again(tmp_path: Path) -> None:
    rows = (row(target=at_most(1.03), note="so it is"), row(ratio=None, against=""))
    measured = Measured({"processor": "any"}, {"floor": rows})
    measured.write(tmp_path / "new" / "speed.json")
    assert Measured.read(tmp_path / "new" / "speed.json") == measured
    assert cells("floor", rows[0])[-1] == "NO" and "1.10 (1.05 to 1.20)" in cells("floor", rows[0])


@pytest.mark.parametrize("content", [None, "", "[]", '{"about": {}, "benchmarks": {"a": [{}]}}'])
def test_a_file_of_something_else_is_refused(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "speed.json"
    if content is not None:
        file.write_text(content)
    assert main(["bench", "--show", str(file)]) == FolderError.exit_code
    assert str(file) in capsys.readouterr().err


@pytest.mark.parametrize("only", ["flor", "", "floor,floor"])
def test_a_benchmark_that_is_not_there_is_refused(
    only: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--only", only]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_data_that_are_named_must_be_there(tmp_path: Path) -> None:
    assert main(["bench", "--only", "floor", "--quiet", "--data", str(tmp_path)]) == 3


def test_every_benchmark_says_in_a_line_what_it_asks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == choices.names("bench")
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    assert [name for name in choices.names("bench") if f"`{name}`" not in page] == []


def test_memory_is_that_of_the_work_alone() -> None:
    """Half a gigabyte was taken and freed before it began: that is not counted."""
    assert 0.9 * 2**28 < peak_of(_taking, 2**28).extra < 1.5 * 2**28


def _taking(size: int) -> object:
    torch.ones(2 * size, dtype=torch.uint8)
    return lambda: torch.ones(size, dtype=torch.uint8)


def test_the_plain_rendering_learns_as_the_official_code_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The ten neighbours of each anchor run in training mode, without gradient, before it."""
    monkeypatch.setattr(plain_module, "BATCH", 8)
    splits = made_splits(classes=4, train=20, test=1)
    plain = Plain(splits.train, old=2, device=CPU)
    seen: list[tuple[int, bool, bool]] = []
    plain.network.trunk.register_forward_hook(
        lambda module, args, out: seen.append(
            (len(args[0]), module.training, torch.is_grad_enabled())
        )
    )
    before = plain.network.rows.detach().clone()
    plain.dde(1)
    assert seen == [(80, True, False), (8, True, True)]
    assert not torch.equal(plain.network.rows, before)
    graph = plain.graph()
    assert graph.shape == (80, 10) and bool((splits.train.labels[graph] >= 2).all())
    assert not bool((graph == torch.arange(80)[:, None]).any())


def test_a_brief_bench_ends_in_a_table_and_in_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMANENCE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = tmp_path / "speed.json"
    command = ["bench", "--quick", "--repeat", "1", "--only", "photographs", "--quiet"]
    assert main([*command, "--out", str(file)]) == 0
    assert "made images" in capsys.readouterr().out
    assert set(json.loads(file.read_text())["benchmarks"]) == {"photographs"}
    assert main(["bench", "--show", str(file), "--markdown"]) == 0
    assert capsys.readouterr().out == as_markdown(Measured.read(file))


def test_the_page_shows_the_last_measurement() -> None:
    recorded = sorted((ROOT / "results" / "speed").glob("*.json"))
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    shown = page.partition("## Measured")[2]
    assert recorded or "|" not in shown
    assert not recorded or as_markdown(Measured.read(recorded[-1])) in shown
