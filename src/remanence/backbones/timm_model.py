"""A network of the library timm by its name, where that library is installed."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Self

from pydantic import Field
from torch import Tensor, nn

from remanence.backbones.base import Backbone, Seen, Trunk
from remanence.core.errors import SettingsError
from remanence.core.settings import settings


@settings
class TimmModel(Backbone):
    """Pooled features of a network of timm, without its classifier.

    model: its name in timm. pretrained: with the weights that timm fetches for it.
    """

    model: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]+$")] = "resnet18"
    pretrained: bool = True

    def build(self, channels: int) -> Trunk:
        return _Timm(_created(self, channels), self.pretrained)

    def bare(self) -> Self:
        return dataclasses.replace(self, pretrained=False)


class _Timm(Trunk):
    def __init__(self, network: Any, pretrained: bool) -> None:
        super().__init__()
        self.network: nn.Module = network
        self.width = int(network.num_features)
        self.pretrained = pretrained

    def forward(self, images: Tensor) -> Seen:
        return Seen(self.network(images))


def _created(chosen: TimmModel, channels: int) -> Any:
    try:
        import timm
    except ImportError as error:
        raise SettingsError(
            f"backbone: timm cannot be imported ({error}); pip install timm, or choose another"
        ) from None
    try:
        return timm.create_model(
            chosen.model, pretrained=chosen.pretrained, num_classes=0, in_chans=channels
        )
    except Exception as error:  # whatever its loaders and downloads may raise
        line = " ".join(str(error).split())
        raise SettingsError(f"backbone: timm cannot make '{chosen.model}': {line}") from None
