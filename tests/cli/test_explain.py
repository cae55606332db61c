"""All settings in force, and a star where they differ from the recipe."""

from __future__ import annotations

import json
from pathlib import Path

from commands import BRIEF, Here

from remanence.core.settings import differences
from remanence.recipe import compose
from remanence.run_folder import described, read_experiment

RECIPE = "digits-lucir-dde"


def _stars(text: str) -> set[str]:
    return {line.split()[1] for line in text.splitlines() if line.startswith("* ")}


def test_a_recipe_is_explained_without_stars(here: Here) -> None:
    outcome = here("explain", RECIPE)
    assert (outcome.code, outcome.err) == (0, "")
    assert _stars(outcome.out) == set()
    assert "  memory.per_class " in outcome.out
    assert "effects.colliding.source " in outcome.out


def test_nothing_is_left_open(here: Here) -> None:
    tree = json.loads(here("explain", RECIPE, "--json").out)["resolved"]
    assert None not in tree["training"].values()
    assert tree == compose(RECIPE)[1].resolved().tree()


def test_what_is_laid_over_a_recipe_gets_a_star_and_the_recipes_value(here: Here) -> None:
    outcome = here("explain", RECIPE, "memory.per_class=20", "training.epochs=20", "seed=3")
    assert _stars(outcome.out) == {"memory.per_class", "seed"}, "20 epochs are the default"
    (line,) = (line for line in outcome.out.splitlines() if line.startswith("* memory"))
    assert line.split()[-4:] == ["=", "20", "(recipe:", "5)"]


def test_a_setting_that_the_recipe_has_not_gets_a_star(here: Here) -> None:
    outcome = here("explain", "digits-lucir", "effects=halved")
    assert "effects.halved.weight" in _stars(outcome.out)
    assert '(recipe: "absent")' in outcome.out


def test_a_run_is_explained_against_its_recipe(undisturbed: Path, here: Here) -> None:
    resolved, plain = (compose(RECIPE, words)[1].resolved().tree() for words in (BRIEF, ()))
    kept = json.loads((undisturbed / "experiment.json").read_text())["resolved"]
    resolved["machine"] = kept["machine"]  # what was open is as it was decided then
    starred = _stars(here("explain", str(undisturbed)).out)
    assert starred == {path for path, *_ in differences(plain, resolved)}
    assert json.loads(here("explain", str(undisturbed), "--json").out) == {
        "resolved": resolved,
        "recipe": plain,
    }


def test_a_run_of_an_unknown_recipe_is_explained_without_stars(
    tmp_path: Path, undisturbed: Path, here: Here
) -> None:
    kept = read_experiment(undisturbed)
    (tmp_path / "experiment.json").write_text(described(kept | {"recipe": "of-my-own"}))
    outcome = here("explain", str(tmp_path))
    assert outcome.code == 0
    assert _stars(outcome.out) == set()
    assert "method.name" in outcome.out
