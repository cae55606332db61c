"""Recording a step: what runs plainly, what is replayed, and from which memory.

There need be no GPU: stand-ins for CUDA's graphs run what was recorded again, on the tensors that
it was recorded with, which is what a graph does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import made
import pytest
import torch
from torch import Tensor

from remanence.engine import replay
from remanence.loader import Batch


class Graph:
    """Replays by calling the recorded function on the recorded batch."""

    recording: Graph | None = None

    def __init__(self) -> None:
        self.again: Callable[[], None] | None = None

    def replay(self) -> None:
        assert self.again is not None
        self.again()


class Stream:
    def wait_stream(self, other: object) -> None: ...


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def record(graph: Graph, **_: object) -> Iterator[None]:
        Graph.recording = graph
        yield
        Graph.recording = None

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", record)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)


class Learning:
    """A function of a batch that changes what it remembers in place; recording runs nothing."""

    def __init__(self) -> None:
        self.seen = torch.zeros(())
        self.plainly = 0
        self.returned = torch.zeros(())

    def __call__(self, batch: Batch) -> Tensor:
        if Graph.recording is not None:
            Graph.recording.again = lambda: self._learn(batch)
            return self.returned
        self.plainly += 1
        self._learn(batch)
        return self.returned.clone()

    def _learn(self, batch: Batch) -> None:
        self.seen += batch.images.sum() * 2 + batch.indices.sum() + batch.labels.sum()
        self.returned.copy_(self.seen)


def batches(count: int, size: int) -> list[Batch]:
    epoch = made.epoch(made.pool([0] * (count * size)), batch_size=size)
    return list(epoch.batches())


@pytest.mark.usefixtures("cuda")
def test_replayed_or_not_the_outcome_is_the_same() -> None:
    plain, recorded = Learning(), Learning()
    replayed = replay.Replay(recorded)
    for batch in batches(8, 4):
        assert torch.equal(replayed(batch), plain(batch))
    assert recorded.plainly == replay.PLAIN_STEPS < plain.plainly


@pytest.mark.usefixtures("cuda")
def test_a_smaller_batch_runs_plainly_and_the_next_is_replayed_again() -> None:
    plain, recorded = Learning(), Learning()
    replayed = replay.Replay(recorded)
    for batch in [*batches(5, 4), *batches(1, 3), *batches(5, 4)]:
        assert torch.equal(replayed(batch), plain(batch))
    assert recorded.plainly == replay.PLAIN_STEPS + 1
