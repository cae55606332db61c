"""An nn.Module of your own, by its path: package.module:Name."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor, nn

from remanence.backbones.base import Backbone, Seen, Trunk
from remanence.core.errors import SettingsError
from remanence.core.settings import settings

TRIED_ON = 64  # pixels on each side


@settings
class OwnModule(Backbone):
    """Any module that makes of images N x 3 x side x side features N x d, or maps N x d x h x w.

    path: package.module:Name; called without arguments it gives the module. One that has an
    attribute `pretrained = True` is not trained any further by the method `frozen`.
    """

    path: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]

    def build(self, channels: int) -> Trunk:
        return _Own(_made(self.path), channels, self.path)


class _Own(Trunk):
    def __init__(self, network: nn.Module, channels: int, path: str) -> None:
        super().__init__()
        self.network = network
        self.pretrained = bool(getattr(network, "pretrained", False))
        self.width = _width(self, channels, path)

    def forward(self, images: Tensor) -> Seen:
        seen: Tensor = self.network(images)
        return Seen(seen.mean((2, 3)) if seen.ndim == 4 else seen)


def _width(trunk: Trunk, channels: int, path: str) -> int:
    """The length of its features, by trying it."""
    was_training = trunk.training
    try:
        with torch.no_grad():
            seen = trunk.eval()(torch.zeros(1, channels, TRIED_ON, TRIED_ON)).features
    except Exception as error:  # it is code of the user's
        raise SettingsError(f"backbone: {path} fails on images: {error}") from None
    trunk.train(was_training)
    if seen.ndim != 2:
        raise SettingsError(
            f"backbone: {path} makes {tuple(seen.shape)} of an image; 1 x d or 1 x d x h x w is due"
        )
    return int(seen.shape[1])


def _made(path: str) -> nn.Module:
    module, _, name = path.partition(":")
    try:
        made: Any = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError, TypeError) as error:
        raise SettingsError(f"backbone: {path} cannot be made: {error}") from None
    if not isinstance(made, nn.Module):
        raise SettingsError(f"backbone: {path} gives a {type(made).__name__}, not an nn.Module")
    return made
