"""The whole tree of what is chosen: layers, defaults that depend on each other, round trips."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as bounded
from hypothesis import strategies as st

from remanence.backbones.convnet import Convnet
from remanence.core.errors import SettingsError
from remanence.effects.colliding import Colliding
from remanence.effects.momentum import Momentum
from remanence.experiment import Experiment
from remanence.methods.finetune import Finetune
from remanence.methods.lucir import Lucir

LAYERS = st.fixed_dictionaries(
    {},
    optional={
        "data": st.sampled_from(["digits", "cifar100", {"name": "cifar100", "folder": "/data"}]),
        "method": st.sampled_from(["finetune", "lucir", {"name": "lucir", "less_forget": 2.5}]),
        "backbone": st.sampled_from([None, "convnet", {"name": "convnet", "width": 8}]),
        "effects": st.sampled_from(
            ["", "momentum", "momentum,colliding", {"colliding": {"neighbours": 3}}]
        ),
        "memory": st.fixed_dictionaries(
            {}, optional={"per_class": st.integers(0, 50), "total": st.none() | st.integers(1, 99)}
        ),
        "stream": st.fixed_dictionaries(
            {},
            optional={
                "order": st.sampled_from(["natural", "random:3"]) | st.permutations(range(4)),
                "base": st.integers(1, 5),
                "sizes": st.lists(st.integers(1, 5), max_size=3),
            },
        ),
        "training": st.fixed_dictionaries(
            {},
            optional={
                "epochs": st.none() | st.integers(1, 99),
                "rate": st.floats(1e-6, 10),
                "drops": st.lists(st.floats(0, 1), max_size=3),
                "schedule": st.sampled_from(["steps", "cosine"]),
            },
        ),
        "seed": st.integers(0, 2**70),
    },
)


@bounded(max_examples=80, deadline=None)
@given(LAYERS, LAYERS)
def test_the_tree_gives_the_experiment_again_and_resolving_is_idempotent(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    experiment = Experiment.of(one, other)
    resolved = experiment.resolved()
    assert resolved.resolved() == resolved
    for each in (experiment, resolved):
        assert Experiment.of(each.tree()) == each
        assert Experiment.of(json.loads(json.dumps(each.tree()))) == each
    assert Experiment.of(experiment.tree()).resolved() == resolved


def test_without_anything_it_is_finetuning_on_the_digits() -> None:
    assert Experiment.of() == Experiment.of({}) == Experiment()
    assert Experiment().data.name == "digits"
    assert Experiment().method == Finetune()


def test_later_layers_are_laid_over_earlier_ones() -> None:
    experiment = Experiment.of(
        {"method": "lucir", "memory": {"per_class": 5}, "training": {"epochs": 9, "rate": 0.2}},
        {"method": {"margin": 1.5}, "training": {"epochs": 3}},
        {"effects": {"colliding": {"neighbours": 4}}},
        {"effects": {"momentum": {}, "colliding": {"weights": "variant1"}}},
    )
    assert experiment.method == Lucir(margin=1.5)
    assert experiment.memory.per_class == 5
    assert (experiment.training.epochs, experiment.training.rate) == (3, 0.2)
    assert experiment.effects == (Colliding(neighbours=4, weights="variant1"), Momentum())


def test_another_method_does_not_inherit_the_settings_of_the_first() -> None:
    first = {"method": {"name": "lucir", "margin": 1.5}}
    assert Experiment.of(first, {"method": "finetune"}).method == Finetune()
    assert Experiment.of(first, {"method": "lucir"}).method == Lucir(margin=1.5)


def test_what_is_open_is_filled_for_the_data() -> None:
    digits, cifar = (Experiment.of({"data": name}).resolved() for name in ("digits", "cifar100"))
    assert (digits.backbone, digits.training.augmentation) == (Convnet(), "digits")
    assert (digits.stream.order, digits.stream.base, digits.stream.increment) == ("natural", 4, 2)
    assert cifar.backbone is not None and cifar.backbone.name == "resnet32"
    assert (cifar.stream.order, cifar.stream.base, cifar.stream.increment) == ("icarl1993", 50, 10)
    assert (cifar.training.epochs, cifar.training.batch) == (160, 128)


def test_what_is_chosen_is_not_filled() -> None:
    chosen = Experiment.of(
        {"backbone": {"name": "convnet", "width": 8}, "stream": {"base": 6}},
        {"training": {"batch": 7, "weight_decay": 0}},
    )
    resolved = chosen.resolved()
    assert resolved.backbone == Convnet(width=8)
    assert (resolved.stream.base, resolved.stream.increment) == (6, 2)
    assert (resolved.training.batch, resolved.training.weight_decay) == (7, 0)
    assert chosen.training.epochs is None, "the experiment itself stays as it was chosen"


def test_the_base_increment_is_trained_as_long_as_the_others_unless_said() -> None:
    training = Experiment.of({"training": {"epochs": 15}}).resolved().training
    assert (training.epochs_of(0), training.epochs_of(1)) == (15, 15)
    training = Experiment.of({"training": {"base_epochs": 40}}).resolved().training
    assert training.epochs_of(0) == 40 != training.epochs_of(1)


def test_a_default_of_a_method_depends_on_the_data() -> None:
    lucir = Experiment.of({"method": "lucir", "data": "cifar100"}).resolved().method
    assert isinstance(lucir, Lucir) and lucir.less_forget == 5
    own = Experiment.of({"method": {"name": "lucir", "less_forget": 3}}).resolved().method
    assert isinstance(own, Lucir) and own.less_forget == 3


def test_an_experiment_cannot_be_changed_and_equal_ones_are_one() -> None:
    experiment = Experiment.of({"method": "lucir"})
    with pytest.raises(dataclasses.FrozenInstanceError):
        experiment.seed = 3  # type: ignore[misc]
    assert len({experiment, Experiment.of({"method": "lucir"}), Experiment()}) == 2


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        ({"seeds": 3}, "seeds: unknown setting; did you mean 'seed'"),
        ({"memory": {"per_clas": 3}}, "memory.per_clas: .*'per_class'"),
        ({"method": {"name": "lucir", "margn": 3}}, "method.margn: .*'margin'"),
        ({"stream": {"sizes": [0]}}, "stream.sizes.0: "),
        ({"seed": -1}, "seed: should be greater than or equal to 0"),
        ({"stream": {"order": [1, -1]}}, r"stream.order[^;]*greater than or equal to 0[^;]*$"),
        ({"stream": {"order": 3}}, r"stream.order[^;]*$"),
    ],
)
def test_an_error_names_the_path_in_one_line(tree: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError, match=f"^{told}") as error:
        Experiment.of(tree)
    assert "\n" not in str(error.value)
