"""Settings: trees, words key=value, and recipes in TOML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from damaged import DEEP, VALUES, changed, damaged
from hypothesis import strategies as st
from properties import Property

from remanence.experiment import Experiment
from remanence.recipe import compose, recipe_names, recipe_text

RECIPE = "digits-lucir-dde"
TREE = Experiment.of(recipe_text(RECIPE)["experiment"]).resolved().tree()
KEYS = sorted(
    {f"{part}.{key}" for part, below in TREE.items() if isinstance(below, dict) for key in below}
    | set(TREE)
)
VALUE_TEXTS = st.one_of(
    VALUES.map(json.dumps),
    st.text(max_size=12),
    st.sampled_from(["none", "lucir", "bic", "podnet", "colliding,momentum", "-1", "nan", "1e999"]),
    st.just("[" * DEEP),
)
KEY_TEXTS = (
    st.sampled_from(KEYS) | st.text(max_size=8) | st.lists(st.sampled_from(KEYS)).map(".".join)
)
ASSIGNMENTS = st.builds("{}={}".format, KEY_TEXTS, VALUE_TEXTS) | st.text(max_size=20)
TOML = b"""about = "mine"
[experiment]
data = "digits"
method = { name = "lucir", less_forget = 3 }
memory.per_class = 5
stream.sizes = [3, 2, 2]
[experiment.effects.colliding]
neighbours = 10
"""


def decodes(folder: Path, tree: Any) -> None:
    """What is taken is an experiment, and its tree gives it again."""
    experiment = Experiment.of(tree).resolved()
    assert Experiment.of(experiment.tree()).tree() == experiment.tree()


def composes(folder: Path, words: list[str]) -> None:
    """A recipe with words laid over it."""
    decodes(folder, compose(RECIPE, words)[1].tree())


def reads_recipe(folder: Path, content: bytes) -> None:
    """A recipe of one's own."""
    file = folder / "mine.toml"
    file.write_bytes(content)
    compose(str(file))


PROPERTIES = [
    Property("settings: trees", changed(TREE).filter(lambda tree: isinstance(tree, dict)), decodes),
    Property("settings: words", st.lists(ASSIGNMENTS, max_size=3), composes),
    Property(
        "settings: recipes in TOML",
        damaged([TOML, f"[experiment]\nseed = {'[' * DEEP}".encode()]),
        reads_recipe,
    ),
    Property(
        "settings: names of recipes",
        st.text(max_size=12) | st.sampled_from(recipe_names()),
        lambda folder, name: compose(name),
    ),
]
