"""The command that makes a run again: the nearest recipe, and the settings laid over it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from remanence.core.errors import SettingsError
from remanence.core.settings import differences
from remanence.experiment import Experiment
from remanence.recipe import compose, recipe_names
from remanence.reproduce.shape import identity


def command(experiment: Experiment) -> str:
    """In one line; empty where no recipe comes to it."""
    wanted = _tree(experiment)
    distances = {name: len(list(differences(_made(name), wanted))) for name in recipe_names()}
    for name in sorted(distances, key=lambda name: distances[name]):
        settings = _over(name, wanted)
        if settings is not None:
            return shlex.join(["remanence", "run", name, *settings])
    return ""


def _over(recipe: str, wanted: Mapping[str, Any]) -> list[str] | None:
    """The settings that make the wanted tree of a recipe; None if none do."""
    settings: list[str] = []
    try:
        for step in (_names, _backbone, _values):
            settings += step(_made(recipe, *settings), wanted)
        return settings if _made(recipe, *settings) == wanted else None
    except SettingsError:
        return None


@cache
def _made(recipe: str, *settings: str) -> dict[str, Any]:
    return _tree(compose(recipe, settings)[1])


def _names(made: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """What is chosen by name, since all other settings hang on it."""
    if made["data"]["name"] != wanted["data"]["name"]:
        yield f"data={wanted['data']['name']}"
    if made["method"]["name"] != wanted["method"]["name"]:
        yield f"method={wanted['method']['name']}"
    if list(made["effects"]) != list(wanted["effects"]):
        yield f"effects={','.join(wanted['effects'])}"


def _backbone(made: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """By its name too, where it is not the one that the method takes."""
    if made["backbone"] != wanted["backbone"]:
        yield f"backbone={wanted['backbone']['name']}"


def _values(made: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    for path, _, value in differences(made, wanted):
        said = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        yield f"{path}={said}"


def _tree(experiment: Experiment) -> dict[str, Any]:
    tree = identity(experiment.resolved().tree())
    return {**tree, "effects": tree["effects"] or {}}
