"""A small model on disk, made without any learning: three classes, two of them older."""

from __future__ import annotations

from pathlib import Path

import made_photographs
import torch
from torch import Tensor

from remanence.backbones.convnet import Convnet
from remanence.core.settings import encode
from remanence.model.description import (
    FORMAT,
    Description,
    KeptPhotograph,
    KnownClass,
    Measured,
    Preprocessing,
)
from remanence.model.folder import Content, ModelFolder, hash_of
from remanence.photographs.decode import reduced

SIDE = 32
BACKBONE = Convnet(width=8)
SEEN = Preprocessing(side=SIDE, mean=(0.5, 0.4, 0.3), std=(0.5, 0.6, 0.7), centre=0.875)


def head(classes: int = 3, seed: int = 0) -> dict[str, Tensor]:
    """A random matrix and bias."""
    chance = torch.Generator().manual_seed(seed)
    return {
        "weight": torch.randn(classes, 8, generator=chance),
        "bias": torch.randn(classes, generator=chance),
    }


def description(version: int = 1, **others: object) -> Description:
    """Of a version."""
    classes = (
        KnownClass(name="wren", version=1, made="2026-01-01", photographs=5, remembered={1: 90.0}),
        KnownClass(name="owl", version=1, made="2026-01-01", photographs=5),
        KnownClass(name="été", version=version, made="2026-01-02", photographs=4),
    )
    chosen: dict[str, object] = {
        "format": FORMAT,
        "version": version,
        "parent": version - 1 or None,
        "made": "2026-01-02",
        "classes": classes,
        "backbone": encode(BACKBONE),
        "preprocessing": SEEN,
        "transform": "rooted",
        "temperature": 0.5,
        "measured": Measured(all=80.0, old=79.0, new=81.0, before=82.0),
    }
    return Description(**{**chosen, **others})


def trunk() -> dict[str, Tensor]:
    """The weights of a small trunk."""
    torch.manual_seed(0)
    return dict(BACKBONE.build(3).state_dict())


def model(path: Path, versions: int = 1) -> ModelFolder:
    """A model with so many versions, which keeps two photographs."""
    photograph = made_photographs.save(path.parent / "a wren.jpg")
    content = reduced(photograph, 48)
    kept = KeptPhotograph(label=0, hash=hash_of(content), name="a wren.jpg", bytes=len(content))
    folder = ModelFolder(path)
    with folder.changing():
        for version in range(1, versions + 1):
            what = description(version, kept=(kept,))
            folder.add(Content(what, trunk(), head(seed=version), {}, {kept.hash: content}))
            folder.use(version)
    return folder
