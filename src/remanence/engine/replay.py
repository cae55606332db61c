"""On a GPU, a step is hundreds of small kernels: recorded once, they are launched as one.

What is recorded must be the same sequence of device operations for every batch of equal size;
methods and lenses say so by `captures`. The first steps, and batches of another size, run plainly.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor

from remanence.loader import Batch

PLAIN_STEPS = 3  # libraries choose their kernels and allocate their workspaces in these


class Replay:
    """Stands in for a function of a batch, and gives what that gives."""

    def __init__(self, function: Callable[[Batch], Tensor]) -> None:
        self._function = function
        self._plain = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._batch: Batch | None = None
        self._returned: Tensor | None = None

    def __call__(self, batch: Batch) -> Tensor:
        if self._plain < PLAIN_STEPS:
            self._plain += 1
            return self._on_a_stream_of_its_own(batch)
        if self._graph is None:
            self._record(batch)
        assert self._batch is not None and self._graph is not None and self._returned is not None
        if len(batch.labels) != len(self._batch.labels):
            return self._function(batch)
        for name in ("images", "labels", "indices"):
            getattr(self._batch, name).copy_(getattr(batch, name))
        self._graph.replay()
        return self._returned

    def _on_a_stream_of_its_own(self, batch: Batch) -> Tensor:
        """What is recorded later must not have run on the stream that everything else is on."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            returned = self._function(batch)
        torch.cuda.current_stream().wait_stream(stream)
        return returned

    def _record(self, batch: Batch) -> None:
        tensors = {name: getattr(batch, name).clone() for name in ("images", "labels", "indices")}
        self._batch = dataclasses.replace(batch, **tensors)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            self._returned = self._function(self._batch)
