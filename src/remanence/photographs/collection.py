"""Photographs that stay files: decoded when they are seen, by threads, a little ahead of need.

What is seen is a function of the file and of one number for each view; how many threads decode and
who asks when makes no difference.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from remanence.core.errors import DataError
from remanence.core.machine import processors
from remanence.images import Images, Source
from remanence.photographs.album import Album
from remanence.photographs.decode import cropped

BATCHES_AHEAD = 2
IMAGES_AT_ONCE = 8  # by one thread


class Photographs(Images):
    """Some photographs of an album, in some order; among them may be images that are in memory.

    places: where they stand in the album; -1 is the first image in memory, -2 the second.
    held: the pixels of those in memory.
    """

    def __init__(
        self, album: Album, places: Tensor, labels: Tensor, held: Tensor | None = None
    ) -> None:
        nothing = torch.empty((0, 3, album.side, album.side), dtype=torch.uint8)
        self.album = album
        self.held = nothing if held is None else held
        super().__init__(self.held, labels, places)

    def __getitem__(self, indices: Tensor) -> Photographs:
        return Photographs(self.album, self.places[indices], self.labels[indices], self.held)

    def names(self) -> list[str]:
        """Those of the files, where all of them are files."""
        return list(self.album.names[self.places.numpy()])

    def lent(self) -> Photographs:
        """The same to be closed by whoever has them next, while these stay open."""
        album = dataclasses.replace(self.album, closed=set())
        return Photographs(album, self.places, self.labels, self.held)

    @property
    def pixels(self) -> Tensor:
        """All of them decoded as prediction sees them: for few."""
        (pixels,) = self.seen([torch.arange(len(self))])
        return pixels

    @property
    def shape(self) -> tuple[int, ...]:
        return 3, self.album.side, self.album.side

    @property
    def nbytes(self) -> int:
        in_files = self.album.sizes[self.places[self.places >= 0].numpy()]
        return int(in_files.sum()) + int((self.places < 0).sum()) * 3 * self.album.side**2

    @property
    def unreadable(self) -> Mapping[str, str]:
        return self.album.unreadable

    def numbered(self) -> Photographs:
        return self

    def labelled(self, labels: Tensor) -> Photographs:
        return Photographs(self.album, self.places, labels, self.held)

    def state(self) -> dict[str, Any]:
        """Names and hashes of the files, not their pixels."""
        places = self.places.tolist()
        files = [place for place in places if place >= 0]
        return {
            "files": [self.album.names[place] for place in files],
            "hashes": [self.album.hash(place) for place in files],
            "bytes": [int(self.album.sizes[place]) for place in files],
            "held": self.held[[-1 - place for place in places if place < 0]],
            "in_memory": self.places < 0,
            "labels": self.labels,
        }

    def load(self, state: Mapping[str, Any]) -> Images:
        if "files" not in state:
            return super().load(state)
        found = self.album.places(state["files"])
        for place, hashed in zip(found, state["hashes"], strict=True):
            if self.album.hash(place) != hashed:
                changed = self.album.folder / self.album.names[place]
                raise DataError(f"{changed} was kept, but has changed since: put it back")
        in_memory = state["in_memory"]
        places = torch.empty(len(in_memory), dtype=torch.int64)
        places[~in_memory] = torch.tensor(found, dtype=torch.int64)
        places[in_memory] = -1 - torch.arange(len(state["held"]))
        return Photographs(self.album, places, state["labels"], state["held"])

    def joined(self, other: Images) -> Photographs:
        return _together(self, self._among_files(other))

    def after(self, first: Images) -> Photographs:
        return _together(self._among_files(first), self)

    def _among_files(self, images: Images) -> Photographs:
        if isinstance(images, Photographs):
            assert images.album is self.album, "one source, one album"
            return images
        return Photographs(self.album, -1 - torch.arange(len(images)), images.labels, images.pixels)

    def sources(self) -> Iterator[Source]:
        for number, place in enumerate(self.places.tolist()):
            if place >= 0:
                name, size = str(self.album.names[place]), int(self.album.sizes[place])
                yield Source(name, self.album.hash(place), size)
            else:
                pixels = self.held[-1 - place]
                yield from Images(pixels[None], self.labels[[number]]).sources()

    def close(self, kept: Images) -> None:
        left = kept.places.tolist() if isinstance(kept, Photographs) else []
        self.album.closed.update(set(self.places.tolist()) - set(left))
        self._pixels = None

    def identity(self) -> Iterator[bytes | memoryview]:
        """Names and sizes, not contents: there may be a hundred gigabytes of those."""
        for place in self.places[self.places >= 0].tolist():
            yield f"{self.album.names[place]}\0{self.album.sizes[place]}\0".encode(
                errors="surrogatepass"
            )
        yield self.held[-1 - self.places[self.places < 0]].contiguous().numpy().data
        yield self.labels.contiguous().numpy().data

    def mean_image(self) -> Tensor:
        """Black: photographs have no mean image, and what would subtract one is refused."""
        return torch.zeros(3, 1, 1)

    def seen(
        self,
        parts: Sequence[Tensor],
        chances: Tensor | None = None,
        device: torch.device | None = None,
    ) -> Iterator[Tensor]:
        """The pixels of one part after another, the next ones being decoded meanwhile.

        chances: a number for each image that decides on its crop; without, the centre is seen.
        """
        self.check_open()
        device = device or torch.device("cpu")
        waiting: deque[tuple[Tensor, list[Future[None]]]] = deque()
        threads = ThreadPoolExecutor(self.album.workers)
        try:
            for part in _on_cpu(parts):
                waiting.append(self._begun(part, chances, threads, device.type == "cuda"))
                if len(waiting) > BATCHES_AHEAD:
                    yield _finished(*waiting.popleft(), device)
            while waiting:
                yield _finished(*waiting.popleft(), device)
        finally:
            threads.shutdown(cancel_futures=True)

    def _begun(
        self, part: Tensor, chances: Tensor | None, threads: ThreadPoolExecutor, pins: bool
    ) -> tuple[Tensor, list[Future[None]]]:
        """A batch whose pixels are being filled in."""
        batch = torch.empty((len(part), *self.shape), dtype=torch.uint8, pin_memory=pins)
        drawn = [None] * len(part) if chances is None else chances[part].tolist()
        wanted = list(zip(batch.numpy(), self.places[part].tolist(), drawn, strict=True))
        starts = range(0, len(wanted), IMAGES_AT_ONCE)
        lots = (wanted[start : start + IMAGES_AT_ONCE] for start in starts)
        return batch, [threads.submit(self._fill, lot) for lot in lots]

    def _fill(self, lot: Sequence[tuple[NDArray[np.uint8], int, int | None]]) -> None:
        for pixels, place, chance in lot:
            if place >= 0:
                np.copyto(pixels, self.album.square(place, chance).transpose(2, 0, 1))
                continue
            np.copyto(pixels, self.held[-1 - place].numpy())
            if chance is not None:
                image = np.ascontiguousarray(pixels.transpose(1, 2, 0))
                np.copyto(pixels, cropped(image, chance).transpose(2, 0, 1))


def of_pixels(pixels: Tensor, labels: Tensor) -> Photographs:
    """Squares that are in memory, to be seen as photographs are: in crops of all sizes."""
    no_names, no_sizes = np.array([], dtype=np.object_), np.array([], dtype=np.int64)
    album = Album(Path(), no_names, no_sizes, pixels.shape[-1], processors())
    return Photographs(album, -1 - torch.arange(len(labels)), labels, pixels)


def _on_cpu(parts: Sequence[Tensor]) -> Sequence[Tensor]:
    """The same parts, fetched from a GPU all at once, because each fetch waits for it."""
    return torch.cat(list(parts)).cpu().split([len(part) for part in parts]) if parts else ()


def _together(first: Photographs, then: Photographs) -> Photographs:
    shifted = torch.where(then.places < 0, then.places - len(first.held), then.places)
    return Photographs(
        first.album,
        torch.cat([first.places, shifted]),
        torch.cat([first.labels, then.labels]),
        torch.cat([first.held, then.held]),
    )


def _finished(batch: Tensor, filling: Sequence[Future[None]], device: torch.device) -> Tensor:
    for lot in filling:
        lot.result()
    return batch.to(device, non_blocking=True)
