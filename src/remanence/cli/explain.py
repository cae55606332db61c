"""All settings of a run or a recipe, and where each value comes from.

examples:
  remanence explain digits-lucir-dde
  remanence explain runs/digits-lucir-dde
  remanence explain cifar100-t5-r5-lucir memory.per_class=20
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("what", metavar="RUN|RECIPE", help="a run folder, or a recipe")
    parser.add_argument(
        "settings", nargs="*", default=[], metavar="key=value", help="laid over a recipe"
    )
    parser.add_argument("--json", action="store_true", help="as JSON, for scripts")


def call(args: argparse.Namespace) -> None:
    """Print the resolved tree; a star marks what differs from the recipe."""
    resolved, plain = _trees(args.what, args.settings)
    if args.json:
        print(json.dumps({"resolved": resolved, "recipe": plain}, indent=2))
        return
    recipe = dict(_leaves(plain)) if plain is not None else {}
    lines = dict(_leaves(resolved))
    width = max(len(path) for path in lines)
    for path, value in lines.items():
        same = plain is None or recipe.get(path, "absent") == value
        was = "" if same else f"   (recipe: {json.dumps(recipe.get(path, 'absent'))})"
        print(f"{' ' if same else '*'} {path:{width}} = {json.dumps(value)}{was}")


def _trees(what: str, settings: list[str]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What is in force, and what the recipe alone would be, if it is one that is known."""
    from remanence.core.errors import SettingsError
    from remanence.recipe import compose, recipe_names

    if not Path(what).is_dir():
        _, experiment = compose(what, settings)
        return experiment.resolved().tree(), compose(what)[1].resolved().tree()
    if settings:
        raise SettingsError("a run is as it was run: settings can only be laid over a recipe")
    from remanence.run_folder import read_experiment

    kept = read_experiment(Path(what))
    known = kept["recipe"] in recipe_names()
    plain = compose(kept["recipe"])[1].resolved().tree() if known else None
    return kept["resolved"], plain


def _leaves(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value
