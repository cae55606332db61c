"""What each switch gains: layout, precision, fused kernels, the teacher's batch norm folded."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from remanence.backbones.base import Trunk
from remanence.backbones.resnet32 import Resnet32
from remanence.bench.base import Bench, Benchmark, Row
from remanence.bench.shared.sides import alternated
from remanence.core.settings import settings
from remanence.kernels.library import library
from remanence.kernels.norm import fuse, hold
from remanence.network import autocast

TURNS, BATCH = 9, 128


@dataclass(frozen=True)
class Way:
    """How a trunk is computed; the defaults are those of plain PyTorch."""

    packed: bool = False
    precision: str = "float32"
    fused: bool = False
    folded: bool = False


TRAINED = {
    "float32": Way(),
    "float32, channels-last": Way(packed=True),
    "float32, channels-last, fused": Way(packed=True, fused=True),
    "bfloat16": Way(precision="bfloat16"),
    "bfloat16, channels-last": Way(packed=True, precision="bfloat16"),
    "bfloat16, channels-last, fused": Way(packed=True, precision="bfloat16", fused=True),
}
TAUGHT = {
    name: Way(packed=True, precision=precision, fused=True, folded=folded)
    for precision in ("float32", "bfloat16")
    for name, folded in ((precision, False), (f"{precision}, folded", True))
}


@settings
class Switches(Benchmark):
    """The default is what `engine/tuning.py` measures to be fastest, of precisions and kernels."""

    def rows(self, bench: Bench) -> Iterator[Row]:
        trunk, images = Resnet32().build(3), torch.randn(BATCH, 3, 32, 32)
        images = images.to(bench.device)
        for part, ways, act in (
            ("forward and backward", TRAINED, _train),
            ("teacher's forward", TAUGHT, _teach),
        ):
            possible = {name: way for name, way in ways.items() if _is_possible(way, bench)}
            sides = {name: _side(trunk, images, way, act) for name, way in possible.items()}
            for side in sides.values():
                side()
            found = alternated(sides, bench.turns(TURNS), bench.device)
            for name, way in possible.items():
                against = _against(name, way)
                ratio = found.ratio(name, against) if against else None
                yield Row(f"{part}, {name}", found.of(name), "s", against, ratio)


def _is_possible(way: Way, bench: Bench) -> bool:
    return not way.fused or (bench.device.type == "cpu" and library() is not None)


def _against(name: str, way: Way) -> str:
    """What a way is set against: a folded one the same unfolded, every other one plain PyTorch."""
    if way.folded:
        return name.removesuffix(", folded")
    return "" if name == "float32" else "float32"


def _side(
    trunk: Trunk, images: Tensor, way: Way, act: Callable[[Trunk, Tensor, str], None]
) -> Callable[[], None]:
    layout = torch.channels_last if way.packed else torch.contiguous_format
    own = copy.deepcopy(trunk).to(images.device)
    own.to(memory_format=layout)  # type: ignore[call-overload]
    fuse(own, way.fused)
    if act is _teach:
        own.eval().requires_grad_(False)
    if way.folded:
        hold(own)
    return partial(act, own, images.to(memory_format=layout), way.precision)


def _train(trunk: Trunk, images: Tensor, precision: str) -> None:
    trunk.zero_grad(set_to_none=True)
    with autocast(images.device, precision):
        features = trunk(images).features
    features.float().sum().backward()


def _teach(trunk: Trunk, images: Tensor, precision: str) -> None:
    with torch.no_grad(), autocast(images.device, precision):
        trunk(images)
