"""Recipes: experiments with names, one file each; and overrides laid over them."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from remanence.core.errors import SettingsError
from remanence.core.settings import assignment, nearest
from remanence.experiment import Experiment, said


@dataclass(frozen=True)
class Recipe:
    """A named experiment as its file has it, before anything is laid over it."""

    name: str
    about: str
    tree: dict[str, Any]


def recipe_names() -> list[str]:
    """The recipes that come with Remanence."""
    files = resources.files("remanence").joinpath("recipes").iterdir()
    return sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml"))


def recipe_text(name: str) -> dict[str, Any]:
    """The content of a recipe, by its name or by the path of a .toml file."""
    path = Path(name)
    try:
        if path.suffix == ".toml":
            return tomllib.loads(path.read_text(encoding="utf-8"))
        if name in recipe_names():
            file = resources.files("remanence").joinpath("recipes", f"{name}.toml")
            return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"cannot read the recipe {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"cannot read the recipe {name}: it is not text") from None
    except RecursionError:
        raise SettingsError(f"{name} is not valid TOML: it is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{name} is not valid TOML: {error}") from None
    raise SettingsError(f"no recipe is called '{name}'{nearest(name, recipe_names())}")


def compose(name: str, overrides: Sequence[str] = ()) -> tuple[Recipe, Experiment]:
    """A recipe, and the experiment that it is with `key=value` overrides laid over it."""
    text = recipe_text(name)
    unknown = set(text) - {"about", "paper", "time", "experiment"}
    if unknown or not isinstance(text.get("experiment"), dict):
        raise SettingsError(
            f"{name}: a recipe has the keys about, paper, time and the table [experiment]"
        )
    recipe = Recipe(Path(name).stem, str(text.get("about", "")), text["experiment"])
    trees = [assignment(override) for override in overrides]
    return recipe, Experiment.of(recipe.tree, *trees)


def run_name(recipe: Recipe, experiment: Experiment) -> str:
    """The folder of a run: the recipe's name, and a hash where it is not run as it stands."""
    if experiment.resolved() == Experiment.of(recipe.tree).resolved():
        return recipe.name
    text = json.dumps(said(experiment.resolved().tree()), sort_keys=True)
    return f"{recipe.name}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"
