"""Batches from a pool, in an order that is a pure function of (seed, increment, stage, epoch)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from remanence.augment import Augmentation, Draws
from remanence.core import ranks, seeds
from remanence.data.base import Images
from remanence.network import EVALUATION_BATCH, Network, Output, evaluating
from remanence.photographs.collection import Photographs

EVALUATION_PIXELS = 128 * 224 * 224  # of all images that are run at once, to bound the memory


@dataclass(frozen=True)
class Batch:
    """Images as training sees them, their labels, and where they stand in the pool.

    Where ranks share an epoch, images are those of this rank's share, and all else is of the whole.
    """

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

    @cached_property
    def remembered(self) -> dict[tuple[str | int, ...], Tensor]:
        """What those who ask the same of the same views need not ask twice, by its purpose."""
        return {}

    @cached_property
    def mean_image_there(self) -> Tensor:
        """The mean image, on the device."""
        return self.mean_image.to(self.device)

    def close(self, kept: Images) -> None:
        """Nothing can be read from it any more but what is kept."""
        copied = vars(self).pop("pixels", None)
        if copied is not None:
            copied.zero_()
        self.images.close(kept)

    def seen(self, parts: Sequence[Tensor], chances: Tensor | None = None) -> Iterator[Tensor]:
        """The pixels of one part of the pool after another, on the device.

        Photographs are decoded ahead, each as a crop if there are `chances` that decide on it.
        """
        if isinstance(self.images, Photographs):
            return self.images.seen(parts, chances, self.device)
        return (self.pixels[part] for part in parts)

    def test_views(self, parts: Sequence[Tensor], mirrored: bool = False) -> Iterator[Tensor]:
        """One part after another as prediction sees it; `mirrored` left to right on demand."""
        for pixels in self.seen(parts):
            shown = pixels.flip(-1) if mirrored else pixels
            yield self.augmentation.test_view(shown, self.mean_image_there)

    def test_view(self, indices: Tensor, mirrored: bool = False) -> Tensor:
        """Some images as prediction sees them."""
        (view,) = self.test_views([indices], mirrored)
        return view

    def outputs(self, network: Network, indices: Tensor, mirrored: bool = False) -> Output:
        """What a network says of some images, in eval mode and as prediction sees them."""

        def everything(out: Output) -> Sequence[Tensor]:
            return out.features, out.logits, out.scores

        features, logits, scores = self._read(network, indices, everything, mirrored)
        return Output(features, logits, scores)

    def read(self, network: Network, indices: Tensor, what: Callable[[Output], Tensor]) -> Tensor:
        """One thing of what a network says of some images; nothing else is held."""
        (column,) = self._read(network, indices, lambda out: (what(out),))
        return column

    def _read(
        self,
        network: Network,
        indices: Tensor,
        what: Callable[[Output], Sequence[Tensor]],
        mirrored: bool = False,
    ) -> list[Tensor]:
        at_once = max(
            1, min(EVALUATION_BATCH, EVALUATION_PIXELS // math.prod(self.images.shape[1:]))
        )
        own, start = ranks.share(indices), 0
        columns: list[Tensor] = []
        with evaluating(network):
            for view in self.test_views(own.split(at_once), mirrored):
                parts = what(network(view))
                columns = columns or [part.new_empty(len(own), *part.shape[1:]) for part in parts]
                for column, part in zip(columns, parts, strict=True):
                    column[start : start + len(part)] = part
                start += len(view)
        return [ranks.gathered(column, len(indices)) for column in columns]


@dataclass(frozen=True)
class Epoch:
    """One pass over some places of a pool; each image has one view for as long as it lasts.

    is_shared: whether each rank is given only its share of a batch's images.
    """

    pool: Pool
    members: Tensor
    batch_size: int
    seed: int
    purpose: tuple[str | int, ...]
    is_main: bool = False
    varies_images: bool = True
    is_shared: bool = False

    @cached_property
    def order(self) -> Tensor:
        """The places in the order in which they are visited."""
        shuffle = seeds.generator(self.seed, *self.purpose, "order")
        shuffled = torch.randperm(len(self.members), generator=shuffle)
        return self.members.to(self.pool.device)[shuffled.to(self.pool.device)]

    @cached_property
    def draws(self) -> Draws:
        """How chance has every image of the pool seen in this epoch."""
        chance = seeds.generator(self.seed, *self.purpose, "views")
        return self.pool.augmentation.draw(len(self.pool), chance).to(self.pool.device)

    @cached_property
    def chances(self) -> Tensor | None:
        """The numbers that decide on the crops of photographs, where they are cropped."""
        if not self.pool.augmentation.crops:
            return None
        chance = seeds.generator(self.seed, *self.purpose, "crops")
        return torch.randint(2**63 - 1, (len(self.pool),), generator=chance)

    def view(self, indices: Tensor) -> Tensor:
        """The views that some images have in this epoch, whenever they are asked for."""
        (view,) = self._views([indices])
        return view

    def _views(self, parts: Sequence[Tensor]) -> Iterator[Tensor]:
        """Those of one part of the pool after another."""
        if not self.varies_images:
            yield from self.pool.test_views(parts)
            return
        augmentation, mean_image = self.pool.augmentation, self.pool.mean_image_there
        for part, pixels in zip(parts, self.pool.seen(parts, self.chances), strict=True):
            yield augmentation.train_view(pixels, self.draws[part], mean_image)

    def __len__(self) -> int:
        return math.ceil(len(self.members) / self.batch_size)

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """The batches from the `start`-th on; the last one may be smaller."""
        parts = self.order.split(self.batch_size)[start:]
        seen = [ranks.share(part) for part in parts] if self.is_shared else parts
        for indices, images in zip(parts, self._views(seen), strict=True):
            yield Batch(images, self.pool.labels[indices], indices, self)
