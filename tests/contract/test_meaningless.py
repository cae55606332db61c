"""What would come to nothing is refused in one line that names what would work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from short_runs import Case, refusal

from remanence.core.errors import SettingsError
from remanence.engine.run import Place, run

TWO: dict[str, Any] = {"memory": {"per_class": 2}}
NONE: dict[str, Any] = {"memory": {"per_class": 0}}
UNTRAINED = {"name": "frozen", "trains_head": False}
MEANINGLESS = [
    Case.of("nearest mean of nothing", effects="nearest_mean", **NONE),
    Case.of("direction out of means", method="lucir", effects="momentum,nearest_mean", **TWO),
    Case.of("means, then direction", method="lucir", effects="nearest_mean,momentum", **TWO),
    Case.of("two rules", method="lucir", effects="nearest_mean,discriminant", **TWO),
    Case.of("no head to read", method=UNTRAINED, effects="momentum", **TWO),
    Case.of("no head to train", method=UNTRAINED, effects="colliding", **TWO),
    Case.of(
        "units", method={"name": "icarl", "form": "sigmoid"}, effects="colliding,momentum", **TWO
    ),
    Case.of("no validation", method="bic", effects="colliding", memory={"per_class": 1}),
    Case.of("no vertices", method="tpcil", effects="colliding,momentum", **NONE),
    Case.of("no pixels", method="mnemonics", effects="momentum", **NONE),
    Case.of(
        "halves of one",
        method={"name": "mnemonics", "refines_old": True},
        memory={"per_class": 1},
    ),
]
WORKS = [
    Case.of("one rule", method="lucir", effects="colliding,nearest_mean", **TWO),
    Case.of("means from one", effects="nearest_mean", memory={"per_class": 1}),
    Case.of("a rule without images", method="lucir", effects="colliding,discriminant", **NONE),
    Case.of("a head to read", method="frozen", effects="colliding,momentum", **NONE),
    Case.of("sigmoid units", method={"name": "icarl", "form": "sigmoid"}, effects="momentum"),
]


@pytest.mark.parametrize("case", MEANINGLESS, ids=lambda case: case.name)
def test_it_is_one_line_and_nothing_is_begun(case: Case, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^(method|memory|effects)[\w.]*: .*; .*") as error:
        run(case.experiment, Place(tmp_path / "run"))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("case", WORKS, ids=lambda case: case.name)
def test_what_is_next_to_it_is_not_refused(case: Case) -> None:
    assert refusal(case) is None
