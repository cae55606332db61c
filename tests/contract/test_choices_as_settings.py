"""Every file that can be chosen: its settings survive a round trip, and each is documented."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import pytest

from remanence.core import choices
from remanence.core.machine import Machine
from remanence.core.settings import Choice, Settings
from remanence.experiment import Experiment
from remanence.memory import Memory
from remanence.schedule import Training
from remanence.stream import StreamPlan

KEYS = {"methods": "method", "effects": "effects", "data": "data", "backbones": "backbone"}
CHOSEN = [(kind, name) for kind in KEYS for name in choices.names(kind)]
# What has no default: settings without which a choice cannot be made.
NEEDED: dict[str, dict[str, Any]] = {"own_module": {"path": "my_package.my_module:MyNetwork"}}
GROUPS = [Experiment, StreamPlan, Memory, Training, Machine]
each_choice = pytest.mark.parametrize(("kind", "name"), CHOSEN)


def _chosen(kind: str, name: str) -> Experiment:
    return Experiment.of({KEYS[kind]: {"name": name, **NEEDED[name]} if name in NEEDED else name})


@each_choice
def test_a_choice_is_named_after_its_file_and_says_what_it_is(kind: str, name: str) -> None:
    assert choices.choose(kind, name)(**NEEDED.get(name, {})).name == name
    assert len(choices.summary(kind, name).split()) > 2


@each_choice
def test_the_tree_of_an_experiment_gives_it_again(kind: str, name: str) -> None:
    experiment = _chosen(kind, name)
    for one in (experiment, experiment.resolved()):
        assert Experiment.of(one.tree()) == one
        assert Experiment.of(json.loads(json.dumps(one.tree()))) == one


@each_choice
def test_resolving_twice_is_resolving_once(kind: str, name: str) -> None:
    resolved = _chosen(kind, name).resolved()
    assert resolved.resolved() == resolved
    assert resolved.backbone is not None
    assert None not in dataclasses.asdict(resolved.training).values()


@pytest.mark.parametrize("data", choices.names("data"))
@pytest.mark.parametrize("method", choices.names("methods"))
def test_every_method_knows_a_schedule_for_all_data(method: str, data: str) -> None:
    resolved = Experiment.of({"method": method, "data": data}).resolved()
    assert resolved.training.base_epochs is not None
    assert resolved.training.rate_at(0, resolved.training.base_epochs) > 0


@each_choice
def test_every_setting_of_a_choice_is_documented(kind: str, name: str) -> None:
    _check_documented(choices.choose(kind, name))


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_every_setting_of_a_group_is_documented(group: type[Settings]) -> None:
    _check_documented(group)


@each_choice
def test_an_unknown_setting_of_a_choice_names_the_nearest(kind: str, name: str) -> None:
    cls: Any = choices.choose(kind, name)
    for known in (field.name for field in dataclasses.fields(cls)):
        with pytest.raises(ValueError, match=f"did you mean '{known}'"):
            cls(**{f"{known}x": 1})


def _check_documented(cls: type[Any]) -> None:
    """Each field's name is a word of the docstring of the class or of one that it builds on."""
    ours = [base for base in cls.__mro__ if base not in (Choice, Settings, object)]
    text = " ".join(base.__dict__.get("__doc__") or "" for base in ours)
    missing = [
        field.name for field in dataclasses.fields(cls) if not re.search(rf"\b{field.name}\b", text)
    ]
    assert missing == []
