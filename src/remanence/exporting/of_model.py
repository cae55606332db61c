"""A version of a model, to be exported."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from remanence.core.errors import DataError
from remanence.core.settings import encode
from remanence.exporting.subject import Subject, spread
from remanence.photographs.scan import photographs
from remanence.predictor import Predictor


def of_model(predictor: Predictor, check_with: Path | None = None) -> Subject:
    """What a predictor knows; it is checked with a folder of photographs, or with those kept."""
    description, network = predictor.description, predictor.network
    seen = description.preprocessing
    return Subject(
        network=network.folded(),
        eager=lambda pixels: network.logits(network.features(pixels)),
        backbone=description.backbone,
        names=predictor.classes,
        shape=(3, seen.side, seen.side),
        shown={
            "crop": f"the central square of the upright image, {seen.centre:g} of its shorter side",
            "resize": f"to {seen.side} x {seen.side}, bilinear, antialiased",
            **encode(seen),
        },
        source={
            "model": predictor.folder.path.resolve().name,
            "version": description.version,
            "made": description.made,
            "temperature": description.temperature,
        },
        real=_real(predictor, check_with),
    )


def _real(predictor: Predictor, folder: Path | None) -> Tensor:
    """Pixels of the photographs in a folder, or of those that are kept."""
    if folder is None:
        files = [predictor.folder.kept_file(one.hash) for one in predictor.kept]
    else:
        files = [folder / file.name for file in photographs(folder, "")]
        if not files:
            raise DataError(
                f"there is no photograph in {folder}: name another folder to check with"
            )
    if not files:
        side = predictor.description.preprocessing.side
        return torch.empty(0, 3, side, side, dtype=torch.uint8)
    return predictor.pixels([files[place] for place in spread(len(files))])
