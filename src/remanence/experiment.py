"""The root of the settings: all that is chosen, as one frozen tree."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Self

from remanence.backbones.base import Backbone
from remanence.core.choices import build, chain, chain_names, named
from remanence.core.machine import Machine
from remanence.core.settings import (
    AtLeastZero,
    Settings,
    decode,
    encode,
    filled,
    merged,
    settings,
)
from remanence.data.base import Data
from remanence.data.digits import Digits
from remanence.effects.base import Effect
from remanence.memory import Memory
from remanence.methods.base import Method
from remanence.methods.finetune import Finetune
from remanence.schedule import Training
from remanence.stream import StreamPlan

CHOSEN_BY_NAME = ("data", "backbone", "method")
UNSAID: Mapping[str, Mapping[str, Any]] = {
    "machine": {"kernels": "plain", "ranks": 1},
    "training": {"on_nan": "stop"},
}


@settings
class Experiment(Settings):
    """Everything that decides what a run does; what is None is filled by `resolved`.

    data, stream: the images, and which of their classes arrive when.
    backbone, method, effects: the network, how it learns, and what it is seen to say.
    memory: how much may be kept. training: the schedule. machine: what to compute on.
    seed: of every random number.

    >>> Experiment.of({"method": "lucir", "memory": {"per_class": 5}}).method.name
    'lucir'
    """

    data: Annotated[Data, named("data")] = Digits()
    stream: StreamPlan = StreamPlan()
    backbone: Annotated[Backbone | None, named("backbones", may_be_open=True)] = None
    method: Annotated[Method, named("methods")] = Finetune()
    effects: Annotated[tuple[Effect, ...], chain("effects")] = ()
    memory: Memory = Memory()
    training: Training = Training()
    machine: Machine = Machine()
    seed: AtLeastZero = 1993

    @classmethod
    def of(cls, *trees: Mapping[str, Any]) -> Self:
        """The experiment that trees of plain values describe, each laid over those before.

        Effects that are given by their names alone replace the chain, and keep the settings
        that those of these names had.
        """
        tree: dict[str, Any] = {}
        for one in trees:
            layer = canonical(one)
            chosen = layer.get("effects", {})
            if isinstance(chosen, list):
                before = tree.pop("effects", {})
                layer["effects"] = {name: before.get(name, {}) for name in chosen}
            tree = merged(tree, layer)
        return decode(cls, tree)

    def tree(self) -> dict[str, Any]:
        """The plain values, such that `of` gives the same experiment again."""
        return dict(encode(self))

    def resolved(self) -> Self:
        """The same experiment with nothing left open: defaults are the method's for the data."""
        data, method = self.data, self.method.resolved(self.data)
        stream = StreamPlan(order=data.order, base=data.base, increment=data.increment)
        backbone = self.backbone or build("backbones", method.backbone(data))
        training = filled(self.training, Training(augmentation=backbone.augmentation))
        training = filled(training, method.training(data))
        training = filled(training, dataclasses.replace(training, base_epochs=training.epochs))
        return dataclasses.replace(
            self,
            stream=filled(self.stream, stream),
            backbone=backbone,
            method=method,
            training=training,
        )


def said(tree: Mapping[str, Any]) -> dict[str, Any]:
    """A tree without the settings that came late and say what was so before there were any.

    What older versions wrote, and the names and hashes made of it, stay what they were.
    """
    result = dict(tree)
    for part, unsaid in UNSAID.items():
        if isinstance(tree.get(part), Mapping):
            told = tree[part].items()
            result[part] = {key: value for key, value in told if unsaid.get(key) != value}
    return result


def canonical(tree: Mapping[str, Any]) -> dict[str, Any]:
    """A tree in which named choices are trees, and a chain is a tree or a list of names."""
    result = dict(tree)
    for key in CHOSEN_BY_NAME:
        if isinstance(result.get(key), str):
            result[key] = {"name": result[key]}
    chosen = result.get("effects", {})
    is_made = isinstance(chosen, tuple) and all(isinstance(item, Effect) for item in chosen)
    if not isinstance(chosen, Mapping) and not is_made:
        result["effects"] = chain_names("effects", chosen)
    return result
