"""Batches from a pool, in an order that is a pure function of (seed, increment, stage, epoch)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from remanence.augment import Augmentation, Draws
from remanence.core import seeds
from remanence.data.base import Images
from remanence.network import EVALUATION_BATCH, Network, Output, evaluating


@dataclass(frozen=True)
class Batch:
    """Images as training sees them, their labels, and where they stand in the pool."""

    images: Tensor
    labels: Tensor
    indices: Tensor
    epoch: Epoch


@dataclass(frozen=True)
class Pool:
    """What a session trains on: the new images, then the exemplars of old classes."""

    images: Images
    new_count: int
    augmentation: Augmentation
    mean_image: Tensor
    device: torch.device

    def __len__(self) -> int:
        return len(self.images)

    @cached_property
    def labels(self) -> Tensor:
        """The labels, on the device."""
        return self.images.labels.to(self.device)

    @cached_property
    def pixels(self) -> Tensor:
        """The pixels, on the device."""
        return self.images.pixels.to(self.device)

    @cached_property
    def everything(self) -> Tensor:
        """All places in the pool."""
        return torch.arange(len(self), device=self.device)

    def test_view(self, indices: Tensor, mirrored: bool = False) -> Tensor:
        """Images as prediction sees them; `mirrored` left to right on demand."""
        pixels = self.pixels[indices]
        pixels = pixels.flip(-1) if mirrored else pixels
        return self.augmentation.test_view(pixels, self.mean_image.to(self.device))

    def outputs(self, network: Network, indices: Tensor, mirrored: bool = False) -> Output:
        """What a network says of some images, in eval mode and as prediction sees them."""
        parts = []
        with evaluating(network):
            for part in indices.split(EVALUATION_BATCH):
                out = network(self.test_view(part, mirrored))
                parts.append((out.features, out.logits, out.scores))
        features, logits, scores = (torch.cat(column) for column in zip(*parts, strict=True))
        return Output(features, logits, scores)


@dataclass(frozen=True)
class Epoch:
    """One pass over some places of a pool; each image has one view for as long as it lasts."""

    pool: Pool
    members: Tensor
    batch_size: int
    seed: int
    purpose: tuple[str | int, ...]
    is_main: bool = False
    varies_images: bool = True

    @cached_property
    def order(self) -> Tensor:
        """The places in the order in which they are visited."""
        shuffle = seeds.generator(self.seed, *self.purpose, "order")
        return self.members[torch.randperm(len(self.members), generator=shuffle)]

    @cached_property
    def draws(self) -> Draws:
        """How chance has every image of the pool seen in this epoch."""
        chance = seeds.generator(self.seed, *self.purpose, "views")
        return self.pool.augmentation.draw(len(self.pool), chance)

    def view(self, indices: Tensor) -> Tensor:
        """The views that some images have in this epoch, whenever they are asked for."""
        if not self.varies_images:
            return self.pool.test_view(indices)
        pixels = self.pool.pixels[indices]
        mean_image = self.pool.mean_image.to(self.pool.device)
        return self.pool.augmentation.train_view(pixels, self.draws[indices.cpu()], mean_image)

    def __len__(self) -> int:
        return math.ceil(len(self.members) / self.batch_size)

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """The batches from the `start`-th on; the last one may be smaller."""
        for indices in list(self.order.split(self.batch_size))[start:]:
            yield Batch(self.view(indices), self.pool.labels[indices], indices, self)
