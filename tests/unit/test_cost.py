"""The time of runs: what goes through the network, at a speed that is given."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from remanence.cli.main import main
from remanence.experiment import Experiment
from remanence.reproduce.cost import LOOK, Estimator
from remanence.reproduce.ledger import Ledger

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"


def _experiment(**chosen: object) -> Experiment:
    tree = {"data": "cifar100", "method": "lucir", "memory": {"per_class": 20}}
    return Experiment.of(tree, {"training": {"epochs": 2, "base_epochs": 3}}, chosen)


def test_at_a_given_speed_time_is_the_images_over_it(tmp_path: Path) -> None:
    estimate = Estimator(Ledger(tmp_path), speed=100.0).estimate(_experiment())
    assert estimate.base == pytest.approx(3 * 50 * 500 / 100)
    images = sum(2 * (10 * 500 + known * 20) for known in range(50, 100, 10))
    assert estimate.increments == pytest.approx(images * (1 + LOOK) / 100)


def test_a_base_that_runs_share_counts_once(tmp_path: Path) -> None:
    estimator = Estimator(Ledger(tmp_path), speed=100.0)
    alone, with_dce = (
        estimator.estimate(_experiment(effects=chain)) for chain in ("", "colliding")
    )
    assert alone.base > with_dce.base == 0


@pytest.mark.parametrize("word", ["0", "-1", "nan", "inf", "fast"])
def test_a_speed_that_is_none_is_refused(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "sota", "--list", f"--speed={word}"])
    assert end.value.code == 2
    assert f"'{word}' is no number of images" in capsys.readouterr().err


@pytest.mark.parametrize("columns", ["imnet-sub-*", "imnet-full-*"])
def test_the_page_on_clusters_prints_what_the_program_says(
    columns: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sota", "--list", "--json", "--columns", columns, "--speed", "2500"]
    assert main(["reproduce", *words]) == 0
    told = json.loads(capsys.readouterr().out)
    (row,) = (line for line in PAGE.read_text("utf-8").splitlines() if f"'{columns}'`)" in line)
    runs, hours = map(int, re.findall(r"\| (\d+)", row))
    assert (runs, hours) == (len(told["runs"]), round(told["seconds"] / 3600))
