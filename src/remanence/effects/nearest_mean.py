"""Prediction by the nearest mean of the exemplars' features (iCaRL's rule)."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.core.settings import settings
from remanence.data.base import Images
from remanence.effects.base import Effect, Lens, View
from remanence.heads import Head
from remanence.loader import Pool
from remanence.network import Network, Output
from remanence.session import Session


@settings
class NearestMean(Effect):
    """Each class is the mean of its exemplars and of their mirror images.

    mirror: auto (where the data's augmentation mirrors), never, or channels, which swaps red and
    blue instead of left and right as the published CIFAR code of LUCIR does.
    """

    replaces_logits: ClassVar[bool] = True
    needs_exemplars: ClassVar[bool] = True

    mirror: Literal["auto", "never", "channels"] = "auto"

    def lens(self) -> Lens:
        return _NearestMeanLens(self.mirror)


class _NearestMeanLens(Lens):
    learned: ClassVar[tuple[str, ...]] = ("means",)

    def __init__(self, mirror: str) -> None:
        self.mirror = mirror
        self.means: Tensor | None = None

    @property
    def captures(self) -> bool:
        return True

    @property
    def ready(self) -> bool:
        return self.means is not None

    def settle(self, session: Session, kept: Pool, shown: View) -> None:
        self.means = None
        if int(torch.bincount(kept.images.labels, minlength=session.classes).min()) == 0:
            return
        means = _unit_means(session.network, kept, False)
        if self.mirror == "channels":
            swapped = Images(kept.images.pixels.flip(1), kept.images.labels)
            swapped_pool = dataclasses.replace(kept, images=swapped)
            means = means + _unit_means(session.network, swapped_pool, False)
        elif self.mirror == "auto" and kept.augmentation.mirrors:
            means = means + _unit_means(session.network, kept, True)
        self.means = F.normalize(means)

    def forward(self, out: Output, head: Head) -> Output:
        assert self.means is not None
        nearness = 2 * F.normalize(out.features) @ self.means.T - 2
        return dataclasses.replace(out, logits=nearness, scores=nearness)


def _unit_means(network: Network, kept: Pool, mirrored: bool) -> Tensor:
    """The mean of each class's unit features."""
    unit = F.normalize(kept.outputs(network, kept.everything, mirrored).features)
    classes = int(kept.labels.max()) + 1
    one_hot = F.one_hot(kept.labels, classes).to(unit.dtype)
    return (one_hot.T @ unit) / one_hot.sum(0)[:, None]
