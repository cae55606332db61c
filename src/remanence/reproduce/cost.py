"""How long runs will take here: the images they go through, times what an image takes.

What an image takes is known from runs in the ledger that were made on this processor, or else
from a few steps of the same network on made images; reading and decoding files is not in it.
For a machine that is not at hand, the images that it trains on in a second can be given.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import torch

from remanence.backbones.base import Trunk
from remanence.core.origin import processor
from remanence.core.settings import encode
from remanence.data.base import Scale
from remanence.effects.colliding import Colliding
from remanence.experiment import Experiment
from remanence.kernels.norm import fuse
from remanence.network import autocast
from remanence.reproduce.ledger import Entry, Ledger
from remanence.stream import group_sizes

SIZED = ("digits", "cifar100", "imagenet")
CLASSES: dict[Scale, int] = {
    "digits": 10,
    "cifar": 100,
    "imagenet_sub": 100,
    "imagenet_full": 1000,
}
IMAGES_PER_CLASS: dict[Scale, float] = {
    "digits": 135,
    "cifar": 500,
    "imagenet_sub": 1294,
    "imagenet_full": 1281.167,
}
PIXELS: dict[Scale, int] = {"digits": 8, "cifar": 32, "imagenet_sub": 224, "imagenet_full": 224}
CHANNELS: dict[Scale, int] = {"digits": 1}
MOST_PIXELS = 128 * 32 * 32  # of the batch that is measured
REPETITIONS = 2
LOOK = 0.3  # of what training with an image takes, when runs do not tell the two apart


@dataclass(frozen=True)
class Work:
    """Images that go through the network forwards and backwards, and forwards only."""

    trained: float
    seen: float

    def __add__(self, other: Work) -> Work:
        return Work(self.trained + other.trained, self.seen + other.seen)


@dataclass(frozen=True)
class Pace:
    """Seconds for an image: forwards and backwards, and forwards only; and how it is known."""

    trained: float
    seen: float
    source: str

    def seconds(self, work: Work) -> float:
        """How long so much work takes."""
        return work.trained * self.trained + work.seen * self.seen


@dataclass(frozen=True)
class Estimate:
    """Seconds of one run; base is 0 where an earlier run of the plan trains it."""

    base: float
    increments: float
    source: str

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.base + self.increments


@dataclass
class Estimator:
    """Estimates runs one after another, and remembers which bases are trained by then.

    speed: images that are trained on in a second, where that is known; else it is found out.
    """

    ledger: Ledger
    speed: float | None = None
    trained_bases: set[str] = field(default_factory=set)
    paces: dict[str, Pace] = field(default_factory=dict)

    def estimate(self, experiment: Experiment) -> Estimate:
        """What the next run of the plan takes."""
        resolved = experiment.resolved()
        base, increments = work_of(resolved)
        pace, key = self._pace(resolved), _base_key(resolved)
        seconds = 0.0 if key in self.trained_bases else pace.seconds(base)
        self.trained_bases.add(key)
        return Estimate(seconds, pace.seconds(increments), pace.source)

    def _pace(self, resolved: Experiment) -> Pace:
        if self.speed is not None:
            return Pace(1 / self.speed, LOOK / self.speed, f"given: {self.speed:g} images/s")
        key = _network_key(resolved)
        if key not in self.paces:
            device = resolved.machine.prepare()
            known = _known_pace(self.ledger, resolved, processor(device))
            self.paces[key] = known or measured_pace(resolved, device)
        return self.paces[key]


def is_sized(resolved: Experiment) -> bool:
    """Whether it is known how many images there are, without looking at them."""
    return resolved.data.name in SIZED


def work_of(resolved: Experiment) -> tuple[Work, Work]:
    """The work of the base increment, and that of all later ones."""
    scale = resolved.data.scale
    each, training = IMAGES_PER_CLASS[scale], resolved.training
    sizes = group_sizes(resolved.stream, CLASSES[scale])
    base = Work(training.epochs_of(0) * sizes[0] * each, 0.0)
    later, known = Work(0.0, 0.0), sizes[0]
    for number, size in enumerate(sizes[1:], 1):
        kept = known * resolved.memory.share(known)
        images = training.epochs_of(number) * (size * each + kept)
        later += _each_image(resolved, images)
        known += size
    return base, later


def _each_image(resolved: Experiment, images: float) -> Work:
    """An image goes through network and teacher, and with some effects its neighbours do too."""
    work = Work(images, images)
    for effect in resolved.effects:
        if isinstance(effect, Colliding) and effect.source != "bank":
            through = effect.source == "through"
            neighbours = images * effect.neighbours
            work += Work(neighbours * through, neighbours * (not through))
    return work


def measured_pace(resolved: Experiment, device: torch.device) -> Pace:
    """The pace of this network on made images, in batches that this machine bears."""
    scale = resolved.data.scale
    assert resolved.backbone is not None and resolved.training.batch is not None
    pixels, channels = PIXELS[scale], CHANNELS.get(scale, 3)
    count = min(resolved.training.batch, max(2, MOST_PIXELS // pixels**2))
    images = torch.rand(count, channels, pixels, pixels, device=device)
    images = images.to(memory_format=torch.channels_last)
    trunk = resolved.backbone.build(channels).to(device)
    trunk.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    fuse(trunk, resolved.machine.kernels != "plain")
    precision = resolved.machine.precision
    tried = ("float32", "bfloat16") if precision == "auto" else (precision,)
    found = [_timed(trunk, images, one) for one in tried]
    trained, seen = min(found)
    return Pace(trained / count, seen / count, "measured now on a few steps")


def _timed(trunk: Trunk, images: torch.Tensor, precision: str) -> tuple[float, float]:
    """Seconds of a step with gradient, and of one without."""

    def forward() -> torch.Tensor:
        with autocast(images.device, precision):
            features: torch.Tensor = trunk(images).features
        return features.float().sum()

    def step() -> None:
        forward().backward()

    def look() -> None:
        with torch.no_grad():
            forward()

    return _fastest(step, images.device), _fastest(look, images.device)


def _fastest(action: Any, device: torch.device) -> float:
    found = []
    for _ in range(REPETITIONS + 1):
        started = time.perf_counter()
        action()
        if device.type == "cuda":
            torch.cuda.synchronize()
        found.append(time.perf_counter() - started)
    return min(found[1:])


def _known_pace(ledger: Ledger, wanted: Experiment, here: str) -> Pace | None:
    """The pace of earlier runs of the same network on the same processor."""
    found = []
    for entry in ledger:
        made = entry.experiment.resolved() if entry.experiment else None
        is_here = entry.machine.get("processor") == here
        is_alike = wanted.machine.precision in ("auto", entry.machine.get("precision"))
        if made and is_here and is_alike and _network_key(made) == _network_key(wanted):
            found.append(_pace_of(entry, made))
    paces = [pace for pace in found if pace > 0]
    if not paces:
        return None
    pace = median(paces)
    return Pace(pace, pace * LOOK, f"from {len(paces)} runs in the ledger on this processor")


def _pace_of(entry: Entry, resolved: Experiment) -> float:
    """Seconds for a trained image."""
    work = work_of(resolved)[1]
    seconds = entry.seconds["increments"] or 0.0
    return seconds / (work.trained + work.seen * LOOK) if work.trained else 0.0


def _network_key(resolved: Experiment) -> str:
    data = [resolved.data.name, resolved.data.scale]
    return json.dumps([*data, encode(resolved.backbone), resolved.training.batch], sort_keys=True)


def _base_key(resolved: Experiment) -> str:
    """Runs that agree on this share their base (see `engine.bases`, which also knows the data)."""
    method, training = resolved.method, resolved.training
    kept = encode(resolved.memory) if method.keep_shapes_base else None
    stream = resolved.stream
    what: Sequence[Any] = [
        resolved.data.name,
        encode(resolved.data),
        [stream.order, stream.base],
        encode(resolved.backbone),
        method.base_signature(),
        kept,
        training.epochs_of(0),
        resolved.seed,
    ]
    return json.dumps(what, sort_keys=True)
