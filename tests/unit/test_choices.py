"""The folder is the registry; a module of the user's own is as good as a file of ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import remanence
from remanence.core import choices
from remanence.core.errors import SettingsError
from remanence.core.settings import decode
from remanence.effects.colliding import Colliding
from remanence.effects.momentum import Momentum
from remanence.experiment import Experiment
from remanence.methods.finetune import Finetune
from remanence.methods.lucir import Lucir

FOLDER = Path(remanence.__file__).parent
KINDS = ("methods", "effects", "data", "backbones")
METHOD = '''"""A method of my own."""
from remanence.core.settings import settings
from remanence.methods.finetune import Finetune


@settings
class Mine(Finetune):
    """Half the weight."""

    half: float = 0.5
'''
EFFECT = '''"""An effect of my own."""
from remanence.core.settings import settings
from remanence.effects.base import Effect, Lens


@settings
class Dark(Effect):
    """Nothing is seen."""

    shade: int = 1

    def lens(self):
        return Lens()
'''


@pytest.fixture(autouse=True)
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two modules of the user's: `mine.method`, in a package, and `dark`, beside it."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").touch()
    (tmp_path / "mine" / "method.py").write_text(METHOD)
    (tmp_path / "mine" / "nothing.py").write_text("from remanence.methods.lucir import Lucir")
    (tmp_path / "mine" / "needs.py").write_text("import a_module_that_is_nowhere")
    (tmp_path / "dark.py").write_text(EFFECT)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] in ("mine", "dark")]:
        del sys.modules[name]


@pytest.mark.parametrize("kind", KINDS)
def test_the_names_are_those_of_the_files(kind: str) -> None:
    files = {file.stem for file in (FOLDER / kind).glob("*.py")}
    assert choices.names(kind) == sorted(files - {"__init__", "base"})
    for name in choices.names(kind):
        first_line = (FOLDER / kind / f"{name}.py").read_text().splitlines()[0]
        assert first_line.strip('"') == choices.summary(kind, name)


def test_a_file_that_is_added_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / "base.py").touch()
    (tmp_path / "methods" / "newest.py").write_text('"""The newest.\n\nOf all."""')
    monkeypatch.setattr(choices, "_PACKAGE", tmp_path)
    assert choices.names("methods") == ["newest"]
    assert choices.summary("methods", "newest") == "The newest."


def test_a_name_stands_for_the_class_that_its_file_defines() -> None:
    assert choices.choose("methods", "lucir") is Lucir
    assert choices.choose("effects", "colliding") is Colliding


def test_a_module_of_the_users_own_by_its_path() -> None:
    mine, dark = choices.choose("methods", "mine.method"), choices.choose("effects", "dark")
    assert mine().name == "mine.method"
    assert issubclass(mine, Finetune)
    assert dark().name == "dark"


def test_an_experiment_with_them_has_a_tree_that_gives_it_again() -> None:
    tree = {"method": {"name": "mine.method", "half": 2}, "effects": "dark,colliding"}
    experiment = Experiment.of(tree)
    assert [effect.name for effect in experiment.effects] == ["dark", "colliding"]
    assert experiment.tree()["method"]["half"] == 2
    assert Experiment.of(experiment.tree()) == experiment


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("lucirr", "'lucirr'; did you mean 'lucir'"),
        ("mine.methd", "'mine.methd'"),
        ("nowhere.method", "'nowhere.method'"),
        ("", "''; known: "),
        (".method", "'.method'"),
        ("mine.", "'mine.'"),
        ("base", "'base'; known: "),
        ("mine.nothing", "mine.nothing defines no Method"),
        ("mine.needs", "mine.needs cannot be imported: .*a_module_that_is_nowhere"),
        ("remanence.methods.base", "remanence.methods.base defines no Method"),
        ("json", "json defines no Method"),
    ],
)
def test_a_name_that_stands_for_nothing(name: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told) as error:
        choices.choose("methods", name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "value",
    [
        "colliding,momentum",
        " colliding , momentum ,",
        ["colliding", "momentum"],
        {"colliding": {}, "momentum": {}},
        {"colliding": None, "momentum": None},
        (Colliding(), Momentum()),
    ],
)
def test_a_chain_in_all_its_forms(value: Any) -> None:
    assert Experiment.of({"effects": value}).effects == (Colliding(), Momentum())
    assert decode(Experiment, {"effects": value}).effects == (Colliding(), Momentum())


def test_a_chain_keeps_its_order() -> None:
    both = Experiment.of({"effects": "momentum,colliding"}).effects
    assert [effect.name for effect in both] == ["momentum", "colliding"]


@pytest.mark.parametrize(
    "value", ["halved,momentum,halved", ["halved", "halved"], (Momentum(), Momentum())]
)
def test_a_chain_has_each_once(value: Any) -> None:
    with pytest.raises(SettingsError, match=r"effects: .*once"):
        Experiment.of({"effects": value})


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"colliding": {"neighbours": 0}}, "effects.colliding.neighbours: .*1"),
        ({"colliding": {"neighbors": 1}}, "effects.colliding.neighbors: .*'neighbours'"),
        ({"coliding": {}}, "effects.*'coliding'; did you mean 'colliding'"),
        ({"colliding": 5}, "effects.*colliding"),
        ({"colliding": "bank"}, "effects.*colliding"),
        ({"colliding": [1]}, "effects.*colliding"),
        (5, "effects: "),
        (None, "effects: "),
        (True, "effects: "),
    ],
)
def test_a_wrong_chain_is_named_to_the_last_key(value: Any, told: str) -> None:
    for make in (Experiment.of, lambda tree: decode(Experiment, tree)):
        with pytest.raises(SettingsError, match=f"^{told}") as error:
            make({"effects": value})
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("value", ["lucir", {"name": "lucir"}, Lucir()])
def test_one_choice_in_all_its_forms(value: Any) -> None:
    assert decode(Experiment, {"method": value}).method == Lucir()


@pytest.mark.parametrize("value", [None, 5, {}, {"margin": 1}, ["lucir"]])
def test_one_choice_needs_a_name(value: Any) -> None:
    with pytest.raises(SettingsError, match=r"^method: .*known: .*finetune, .*lucir"):
        decode(Experiment, {"method": value})


def test_only_what_may_be_left_open_may_be_none() -> None:
    assert Experiment.of({"backbone": None}).backbone is None
    with pytest.raises(SettingsError, match=r"^data: "):
        Experiment.of({"data": None})
