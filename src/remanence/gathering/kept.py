"""The images that are kept, class after class."""

from __future__ import annotations

import torch

from remanence.engine.reopen import Reopened
from remanence.gathering.pictures import as_text, small
from remanence.report.exhibit import Kept, Missing

SHOWN = 20  # of a class


def kept_images(run: Reopened) -> tuple[Kept, ...] | Missing:
    """The first images of each class: the best that herding chose."""
    images = run.learner.exemplars
    if not len(images):
        return Missing("No image is kept.")
    names = run.stream.class_names
    found = []
    for label in images.labels.unique().tolist():
        places = torch.nonzero(images.labels == label).flatten()
        pixels = images[places[:SHOWN]].pixels
        strip = as_text([small(one) for one in pixels])
        found.append(Kept(names[label], len(places), len(pixels), strip))
    return tuple(found)
