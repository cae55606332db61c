"""A recipe with axes is many experiments: every combination of the values that words give.

seed=1,2,3                        three values
effects=halved,momentum           one, because it is a value as it stands: a chain of two effects
effects=halved|colliding,momentum two, since | parts values that have commas themselves
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from remanence.core.errors import SettingsError
from remanence.experiment import Experiment
from remanence.recipe import Recipe, compose


@dataclass(frozen=True)
class Point:
    """One combination. chosen: its value on every axis that has several, the recipe's included."""

    recipe: Recipe
    experiment: Experiment
    chosen: Mapping[str, str]

    def without(self, axis: str) -> str:
        """What tells it from others, apart from one axis."""
        told = (f"{key}={value}" for key, value in self.chosen.items() if key != axis)
        return " ".join(told) or self.recipe.name


def points(recipes: str, words: Sequence[str]) -> list[Point]:
    """Every combination; two that are the same experiment are one."""
    found: dict[Experiment, Point] = {}
    for name in _parts(recipes):
        axes = [_axis(name, word, words) for word in words]
        several = {key for axis in axes for key, _ in axis if len(axis) > 1}
        for combined in product(*axes):
            recipe, experiment = compose(name, [f"{key}={value}" for key, value in combined])
            chosen = {key: value for key, value in combined if key in several}
            if "," in recipes:
                chosen = {"recipe": recipe.name, **chosen}
            found.setdefault(experiment, Point(recipe, experiment, chosen))
    return list(found.values())


def _axis(recipe: str, word: str, words: Sequence[str]) -> list[tuple[str, str]]:
    return [(word.partition("=")[0], one) for one in values(recipe, word, words)]


def values(recipe: str, word: str, words: Sequence[str] = ()) -> list[str]:
    """The values of one word; a comma parts them where the whole would be no value."""
    _, equals, text = word.partition("=")
    if not equals:
        raise SettingsError(f"'{word}' is no axis: write key=value or key=value,value")
    if "|" in text:
        return text.split("|")
    others = [one for one in words if one != word and not {",", "|"} & set(one)]
    if "," not in text or _is_value(recipe, [*others, word]):
        return [text]
    return list(_parts(text))


def _is_value(recipe: str, words: Sequence[str]) -> bool:
    try:
        compose(recipe, words)
    except SettingsError:
        return False
    return True


def _parts(text: str) -> Iterator[str]:
    return (part.strip() for part in text.split(",") if part.strip())
