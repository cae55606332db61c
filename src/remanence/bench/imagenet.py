"""The last increment of the whole of ImageNet: what it holds, calculated and simulated."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch

from remanence.backbones.resnet18 import Resnet18
from remanence.bench.base import Bench, Benchmark, Row, Spread, at_most
from remanence.bench.shared.apart import peak_of
from remanence.bench.shared.increment import Increment, prepared
from remanence.core.settings import settings

GIBIBYTE = 2**30
FITS_IN = 24
STEPS = 2


@settings
class Imagenet(Benchmark):
    """Counts and sizes are real, the photographs are made: see `shared/increment.py`."""

    def rows(self, bench: Bench) -> Iterator[Row]:
        size = Increment(side=64) if bench.quick else Increment()
        parts = calculated(size)
        for what, amount in parts.items():
            yield Row(f"calculated: {what}", Spread.of([amount / GIBIBYTE]), "GiB")
        whole = Spread.of([sum(parts.values()) / GIBIBYTE])
        yield Row("calculated: all of it", whole, "GiB", target=at_most(FITS_IN))
        steps = 1 if bench.quick else STEPS
        peak = peak_of(_apart, size, bench.device.type, steps)
        yield Row(
            f"simulated: bank, neighbours, {steps} steps of {size.batch} at {size.side} pixels",
            Spread.of([peak.highest / GIBIBYTE]),
            "GiB",
            target=at_most(FITS_IN),
            note="with Python and torch",
        )


def calculated(size: Increment) -> dict[str, float]:
    """Bytes of what lives at once while the increment is learned."""
    pool, width = size.pool, Resnet18().build(3).width
    weights = 4 * sum(one.numel() for one in Resnet18().build(3).parameters())
    tile = 256 * pool * 4
    return {
        "names and sizes of 1.3 million files": 160.0 * size.files,
        "network, gradient, momentum, teacher": 4.0 * (weights + 4 * size.classes * width),
        "predictions of every image": 4.0 * pool * size.classes,
        "neighbours and their shares": pool * size.neighbours * (8.0 + 4.0),
        "features and a tile of scores, while neighbours are found": 8.0 * pool * width + 2 * tile,
        f"activations of {size.batch} images": float(size.batch * activations(size.side)),
        "batches that are decoded ahead": 3.0 * size.batch * 3 * size.side**2,
    }


def activations(side: int) -> int:
    """Bytes that one image leaves behind for the backward pass, in float32."""
    trunk, kept = Resnet18().build(3), {}
    parameters = {one.data_ptr() for one in trunk.parameters()}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.data_ptr() not in parameters:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        features = trunk(torch.rand(2, 3, side, side)).features
    assert features.requires_grad
    return sum(kept.values()) // 2


def _apart(size: Increment, device: str, steps: int) -> Callable[[], object]:
    folder = Path(tempfile.mkdtemp(prefix="remanence-bench-"))
    return partial(prepared, size, torch.device(device), steps, folder)
