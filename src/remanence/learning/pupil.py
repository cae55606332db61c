"""A network and what is known through it: all that a lesson needs, and all that it changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from remanence.augment import augmentation
from remanence.backbones.base import Backbone, Trunk
from remanence.core import choices, seeds
from remanence.core.errors import SettingsError
from remanence.core.settings import encode
from remanence.learning.knowledge import TRANSFORM, Knowledge, Lesson
from remanence.learning.measuring import temperature
from remanence.learning.wishes import Wishes
from remanence.model.classifier import Classifier
from remanence.model.description import Description, Preprocessing
from remanence.model.folder import ModelFolder
from remanence.model.trunk import CHANNELS, backbone_of, default_backbone
from remanence.photographs.decode import CENTRE
from remanence.predictor import network_of

SIDE, SMALL_SIDE = 288, 64  # the latter for a network that learns from nothing, on any machine
AUGMENTATION = "imnet_lucir"  # of a backbone that names none


@dataclass(frozen=True)
class Pupil:
    """A trunk that does not change any more, how photographs are shown to it, what is known.

    >>> pupil = Pupil.new(Wishes(backbone="convnet", side=32))
    >>> pixels = torch.randint(256, (4, 3, 32, 32), dtype=torch.uint8)
    >>> two = Labelled(pupil.features(pixels), torch.tensor([0, 0, 1, 1]))
    >>> lesson = Lesson(("owl", "wren"), two, Labelled.nothing(pupil.trunk.width))
    >>> pupil.after(lesson).classifier()(pixels).shape
    torch.Size([4, 2])
    """

    backbone: Mapping[str, Any]
    preprocessing: Preprocessing
    trunk: Trunk
    knowledge: Knowledge

    @classmethod
    def new(cls, wishes: Wishes) -> Pupil:
        """One that knows nothing yet; its trunk is pretrained, or as chance made it."""
        tree = backbone_of(wishes.backbone) if wishes.backbone else default_backbone()
        backbone = _built(tree)
        torch.manual_seed(seeds.derived(wishes.seed, "weights"))
        trunk = backbone.build(CHANNELS)
        shown = augmentation(backbone.augmentation or AUGMENTATION)
        preprocessing = Preprocessing(
            side=wishes.side or (SIDE if trunk.pretrained else SMALL_SIDE),
            mean=_three(shown.mean),
            std=_three(shown.std),
            centre=CENTRE,
        )
        knowledge = Knowledge.nothing(trunk.width, wishes.shrinkage)
        return cls(encode(backbone), preprocessing, trunk, knowledge)

    @classmethod
    def load(cls, folder: ModelFolder, description: Description, wishes: Wishes) -> Pupil:
        """The one that a version of a model came from."""
        _check_same(description, wishes)
        trunk = network_of(folder, description, wishes.own_code).trunk
        memory = folder.memory(description.version)
        knowledge = Knowledge.load(memory, description.names, wishes.shrinkage)
        return cls(description.backbone, description.preprocessing, trunk, knowledge)

    def network(self) -> Classifier:
        """The trunk with its preprocessing, to ask for features."""
        return Classifier(self.trunk, self.preprocessing, TRANSFORM, 0)

    def features(self, pixels: Tensor) -> Tensor:
        """What the trunk makes of images, N x 3 x side x side in 0..255: for few at once."""
        with torch.inference_mode():
            return self.network().eval().features(pixels).clone()

    def after(self, lesson: Lesson) -> Pupil:
        """The same with what a lesson teaches."""
        return dataclasses.replace(self, knowledge=self.knowledge.after(lesson))

    def temperature(self) -> float:
        """That of calibrated probabilities, from the held-out images."""
        return temperature(self.knowledge.held_logits(), self.knowledge.held.labels)

    def classifier(self) -> Classifier:
        """What predicts, calibrated."""
        made = Classifier(self.trunk, self.preprocessing, TRANSFORM, len(self.knowledge.names))
        made.weight, made.bias = self.knowledge.rows()
        made.temperature = self.temperature()
        return made.eval().requires_grad_(False)


def _built(tree: Mapping[str, Any]) -> Backbone:
    try:
        built: Backbone = choices.build("backbones", tree)
    except ValueError as error:
        raise SettingsError(f"backbone: {error}") from None
    return built


def _three(values: tuple[float, ...]) -> tuple[float, float, float]:
    red, green, blue = values
    return red, green, blue


def _check_same(description: Description, wishes: Wishes) -> None:
    """A model keeps its network and what that sees: sums of other features would mean nothing."""
    has, side = dict(description.backbone), description.preprocessing.side
    wanted = _built(backbone_of(wishes.backbone)).bare() if wishes.backbone else None
    if wanted is not None and encode(_built(has).bare()) != encode(wanted):
        raise SettingsError(
            f"backbone: the model has {has['name']} and keeps it; learn into another folder for "
            f"{wishes.backbone}"
        )
    if wishes.side not in (None, side):
        raise SettingsError(
            f"side: the model sees {side} pixels and keeps to that; learn into another folder"
        )
