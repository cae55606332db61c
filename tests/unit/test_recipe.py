"""Recipes: every one that is packaged is whole, and overrides are laid over it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import remanence
from remanence.core.errors import SettingsError
from remanence.experiment import Experiment
from remanence.recipe import Recipe, compose, recipe_names, recipe_text, run_name
from remanence.stream import class_order, group_sizes

FOLDER = Path(remanence.__file__).parent / "recipes"
CLASSES = {"digits": 10, "cifar100": 100}
each_recipe = pytest.mark.parametrize("name", recipe_names())


def test_the_recipes_are_the_files_of_a_folder() -> None:
    assert recipe_names() == sorted(file.stem for file in FOLDER.glob("*.toml"))
    assert "digits-lucir-dde" in recipe_names()


@each_recipe
def test_a_recipe_says_what_it_is_and_how_long_it_takes(name: str) -> None:
    text = recipe_text(name)
    assert len(text["about"].split()) > 3
    assert "\n" not in text["about"]
    assert text["time"].strip()
    assert ("paper" in text) == (not name.startswith("digits"))


@each_recipe
def test_a_recipe_is_an_experiment_that_can_be_run(name: str) -> None:
    recipe, experiment = compose(name)
    resolved = experiment.resolved()
    assert recipe.about == recipe_text(name)["about"]
    assert Experiment.of(experiment.tree()) == experiment
    assert name.startswith(resolved.data.name.removesuffix("00"))
    assert resolved.stream.order is not None
    order = class_order(resolved.stream.order, CLASSES[resolved.data.name])
    assert sum(group_sizes(resolved.stream, len(order))) == len(order)
    assert run_name(recipe, experiment) == name


@each_recipe
def test_a_recipe_names_its_method_and_effects(name: str) -> None:
    _, experiment = compose(name)
    words = name.split("-")
    assert experiment.method.name in words
    acting = {effect.name for effect in experiment.effects if effect.acts_in_training}
    assert ("dde" in words) == ("colliding" in acting)


def test_overrides_are_laid_over_a_recipe_in_order() -> None:
    _, plain = compose("digits-lucir-dde")
    _, other = compose(
        "digits-lucir-dde", ["seed=7", "method.margin=1", "seed=8", "effects.momentum.alpha=1"]
    )
    assert (plain.seed, other.seed) == (1993, 8)
    assert other.tree()["method"] == {**plain.tree()["method"], "margin": 1.0}
    assert other.tree()["effects"]["momentum"]["alpha"] == 1.0
    assert other.memory == plain.memory


def test_a_run_is_named_after_what_is_run_and_not_after_how_it_was_said() -> None:
    recipe, plain = compose("digits-lucir")
    _, said_again = compose("digits-lucir", ["memory.per_class=5", "training.epochs=20"])
    _, other = compose("digits-lucir", ["memory.per_class=6"])
    assert run_name(recipe, said_again) == run_name(recipe, plain) == "digits-lucir"
    assert run_name(recipe, other) == run_name(*compose("digits-lucir", ["memory.per_class=6"]))
    assert run_name(recipe, other).startswith("digits-lucir-")
    assert run_name(recipe, other) != run_name(*compose("digits-lucir", ["memory.per_class=7"]))


def test_a_recipe_by_the_path_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text((FOLDER / "digits-lucir.toml").read_text())
    recipe, experiment = compose(str(file), ["seed=3"])
    assert recipe == Recipe("mine", *_about_and_tree(file))
    assert experiment == compose("digits-lucir", ["seed=3"])[1]


def _about_and_tree(file: Path) -> tuple[str, dict[str, object]]:
    text = tomllib.loads(file.read_text())
    return text["about"], text["experiment"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[experiment]\nseed = = 2", "is not valid TOML: .*line 2"),
        ("about = 'x'", "a recipe has the keys"),
        ("experiment = 3", "a recipe has the keys"),
        ("sead = 3\n[experiment]", "a recipe has the keys"),
        ("[experiment]\nsead = 3", "sead: unknown setting; did you mean 'seed'"),
        ("[experiment]\nmethod = 3", "method: .*known: "),
        ("[experiment]\neffects = 3", "effects: "),
    ],
)
def test_a_wrong_file_is_one_line(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=told) as error:
        compose(str(file))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("digits-lucirr", "no recipe is called 'digits-lucirr'; did you mean 'digits-lucir'"),
        ("", "no recipe is called ''; known: cifar100-"),
        ("missing.toml", "cannot read the recipe missing.toml: No such file or directory$"),
        (".toml", "no recipe is called '.toml'"),
    ],
)
def test_a_recipe_that_is_not_there(name: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        compose(name)


def test_a_file_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="cannot read the recipe") as error:
        compose(str(file))
    assert "\n" not in str(error.value)
