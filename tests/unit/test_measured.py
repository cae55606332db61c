"""What cells come to, from entries whose figures are known."""

from __future__ import annotations

import statistics

import pytest
from made_ledger import entry

from remanence.experiment import Experiment
from remanence.reproduce.ledger import Ledger
from remanence.reproduce.measured import measure
from remanence.reproduce.paper import Cell, tables
from remanence.reproduce.text import beside, ours

SHORT = {"training": {"epochs": 8, "base_epochs": 16}}


def cell(name: str, row: str, column: str) -> Cell:
    one = tables()[name]
    (found,) = (c for c in one.cells if (c.row.name, c.column.name) == (row, column))
    return found


def ledger(folder, *entries) -> Ledger:
    found = Ledger(folder)
    for one in entries:
        assert found.add(one)
    return Ledger(folder)


def run_of(of: Cell, right, *trees):
    rows = {of.row.reading: right} if isinstance(right, list) else right
    return entry(Experiment.of(of.experiment.tree(), *trees), rows)


def flat(level: float, increments: int = 6) -> list[list[float]]:
    return [[level] * (t + 1) for t in range(increments)]


@pytest.fixture
def lucir() -> Cell:
    return cell("components", "lucir", "r5")


def test_nothing_is_measured_where_nothing_was_run(tmp_path, lucir):
    found = measure(tables()["components"], Ledger(tmp_path))
    assert all(one.spread is None and ours(one) == "not run" for one in found.values())
    assert beside(found["lucir", "r5"]) == "paper 50.76"


def test_seeds_are_mean_and_deviation_beside_the_papers(tmp_path, lucir):
    levels = (50.0, 51.0, 53.0)
    runs = [run_of(lucir, flat(one), {"seed": n}) for n, one in enumerate(levels)]
    one = measure(tables()["components"], ledger(tmp_path, *runs))["lucir", "r5"]
    assert one.values == levels
    assert one.spread is not None
    assert one.spread.std == pytest.approx(statistics.stdev(levels))
    assert one.difference == pytest.approx(statistics.mean(levels) - 50.76)
    assert (one.verdict, one.remarks) == ("agrees", ())
    assert (ours(one), beside(one)) == ("51.3 ± 1.5 (3)", "paper 50.76 (+0.6)=")


def test_further_apart_than_tolerated_differs(tmp_path, lucir):
    found = measure(tables()["components"], ledger(tmp_path, run_of(lucir, flat(54))))
    assert found["lucir", "r5"].verdict == "differs"
    assert beside(found["lucir", "r5"]).endswith("(+3.2)!")


def test_a_shortened_schedule_is_said_and_gets_no_verdict(tmp_path, lucir):
    found = measure(tables()["components"], ledger(tmp_path, run_of(lucir, flat(50.76), SHORT)))
    one = found["lucir", "r5"]
    assert one.remarks == ("8 of 160 epochs (base 16)",)
    assert one.verdict == ""


def test_the_run_that_is_nearest_to_the_papers_is_shown(tmp_path, lucir):
    whole, other = flat(51), {"stream": {"order": "lucir1993"}}
    runs = [run_of(lucir, flat(40), SHORT), run_of(lucir, flat(45), other), run_of(lucir, whole)]
    found = measure(tables()["components"], ledger(tmp_path / "all", *runs))
    assert found["lucir", "r5"].values == (51.0,)
    found = measure(tables()["components"], ledger(tmp_path / "two", *runs[:2]))
    assert found["lucir", "r5"].remarks == ("8 of 160 epochs (base 16)",), "the order counts more"
    found = measure(tables()["components"], ledger(tmp_path / "one", runs[1]))
    assert found["lucir", "r5"].remarks == ("order lucir1993",)


def test_one_training_is_read_in_all_its_cells(tmp_path, lucir):
    both = {"cnn": flat(50), "cnn+momentum": flat(53)}
    one = measure(tables()["components"], ledger(tmp_path, run_of(lucir, both)))
    assert one["lucir", "r5"].values == (50.0,)
    assert one["lucir-mer", "r5"].values == (53.0,)
    assert one["lucir-dce", "r5"].spread is None


def test_other_settings_of_momentum_are_another_reading_but_not_another_training(tmp_path, lucir):
    both = {"cnn": flat(50), "cnn+momentum": flat(53)}
    run = run_of(lucir, both, {"effects": {"momentum": {"mix": "direction"}}})
    found = measure(tables()["components"], ledger(tmp_path, run))
    assert found["lucir", "r5"].spread is not None
    assert found["lucir-mer", "r5"].spread is None


def test_what_is_only_the_machines_makes_no_other_run(tmp_path, lucir):
    run = run_of(lucir, flat(50), {"machine": {"threads": 3}, "data": {"folder": "/elsewhere"}})
    assert measure(tables()["components"], ledger(tmp_path, run))["lucir", "r5"].spread


def test_gains_and_improvements_are_of_the_cells_above(tmp_path):
    base, better = (cell("steps", name, "n1") for name in ("lucir", "lucir-mer"))
    both = {"cnn": [[80.0], [40.0, 60.0]], "cnn+momentum": [[80.0], [50.0, 60.0]]}
    assert base.experiment == better.experiment
    found = measure(tables()["steps"], ledger(tmp_path, run_of(base, both)))
    assert found["forgetting-lucir", "n1"].values == (40.0,)
    assert found["forgetting-lucir-mer", "n1"].values == (30.0,)
    improved = found["forgetting-improvement", "n1"].spread
    assert improved is not None and improved.mean == pytest.approx(25.0)
    gained = found["improvement", "n1"].spread  # (80 + 55) / 2 over (80 + 50) / 2
    assert gained is not None and gained.mean == pytest.approx(100 * 2.5 / 65)


def test_what_is_not_of_one_schedule_is_not_compared(tmp_path):
    lucir, dde = (cell("sota", name, "cifar100-t5") for name in ("r5-lucir", "r5-lucir-dde"))
    runs = [run_of(lucir, flat(50), SHORT), run_of(dde, flat(60))]
    found = measure(tables()["sota"], ledger(tmp_path, *runs))
    assert found["r5-lucir-dde", "cifar100-t5"].spread is not None
    assert found["r5-lucir-gain", "cifar100-t5"].spread is None


def test_what_is_a_reimplementation_is_called_so(tmp_path):
    tpcil = cell("sota", "r20-tpcil", "cifar100-t5")
    found = measure(tables()["sota"], ledger(tmp_path, run_of(tpcil, flat(65))))
    assert found["r20-tpcil", "cifar100-t5"].remarks == ("re-implementation from a description",)
