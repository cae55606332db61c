"""What is fastest on the machine at hand, measured once and remembered.

Whether bfloat16 pays hangs on the processor: with instructions for it a ResNet trains twice as
fast, without them many times slower. Fused kernels need a compiler, and pay where memory is slower
than arithmetic. So both are tried, on one batch of the images and the network that are to be
trained, and the outcome kept in the cache folder: another run on this machine decides the same, and
ends with the same bits.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import json
import math
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from remanence.backbones.base import Trunk
from remanence.core import files
from remanence.core.errors import FolderError, SettingsError
from remanence.core.json_text import parsed
from remanence.core.machine import Kernels, Machine, Precision
from remanence.core.settings import encode
from remanence.experiment import Experiment
from remanence.kernels.library import library
from remanence.kernels.norm import fuse, is_fusible
from remanence.network import autocast

GAIN_WANTED = {"float32": 1.0, "bfloat16": 1.2, "plain": 1.0, "fused": 1.05}
REPETITIONS = 3
LARGEST_BATCH = 128
LARGEST_PIXELS = 128 * 32 * 32  # of a batch: larger images are measured in smaller batches

Way = tuple[Precision, Kernels]


def tuned(experiment: Experiment, image_shape: tuple[int, ...], device: torch.device) -> Experiment:
    """The experiment with precision and kernels decided, where that was left to the machine."""
    machine = experiment.machine
    if machine.kernels == "fused" and library() is None:
        raise SettingsError(
            "machine.kernels: the fused ones cannot be compiled here (is there a C compiler, 'cc', "
            "with OpenMP?); choose plain, or leave it open"
        )
    if "auto" in (machine.precision, machine.kernels):
        machine = _decided(experiment, image_shape, device)
    return dataclasses.replace(experiment, machine=machine)


def _decided(experiment: Experiment, image_shape: tuple[int, ...], device: torch.device) -> Machine:
    file = files.cache_folder() / "fastest.json"
    key = _key(experiment, image_shape, device)
    way = _remembered(file).get(key)
    if way is None:
        with _alone(file):
            known = _remembered(file)
            way = known.get(key) or _measured(experiment, image_shape, device)
            _remember(file, known | {key: way})
    precision, kernels = way
    return dataclasses.replace(experiment.machine, precision=precision, kernels=kernels)


@contextlib.contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Runs that start together decide one after the other, and so the same."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(FolderError):  # see `_remember`
            files.make_folder(file.parent)
            held.enter_context(files.reserved(file, lambda: None))
        yield


def _key(experiment: Experiment, image_shape: tuple[int, ...], device: torch.device) -> str:
    on_gpu = device.type == "cuda"
    machine = experiment.machine
    what = {
        "backbone": encode(experiment.backbone),
        "image": image_shape,
        "batch": experiment.training.batch,
        "chosen": [machine.precision, machine.kernels],
        "device": torch.cuda.get_device_name(device) if on_gpu else platform.machine(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "host": platform.node(),
    }
    text = json.dumps(what, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


def _remembered(file: Path) -> dict[str, Way]:
    try:
        known = parsed(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    named = known if isinstance(known, dict) else {}
    return {key: tuple(way) for key, way in named.items() if _is_way(way)}


def _is_way(said: Any) -> bool:
    known = itertools.product(("float32", "bfloat16"), ("plain", "fused"))
    return isinstance(said, list) and tuple(said) in known


def _remember(file: Path, known: dict[str, Way]) -> None:
    try:
        files.make_folder(file.parent)
        files.write(file, json.dumps(known, indent=2) + "\n")
    except FolderError:
        return  # a cache that cannot be written is none: the next run measures again


def _measured(experiment: Experiment, image_shape: tuple[int, ...], device: torch.device) -> Way:
    """The way in which one batch goes through the trunk and back sooner."""
    assert experiment.backbone is not None and experiment.training.batch is not None
    trunk = experiment.backbone.build(image_shape[0]).to(device)
    trunk.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    ways = _ways(experiment.machine, trunk, device)
    if len(ways) == 1:
        return ways[0]
    pixels = image_shape[-1] * image_shape[-2]
    count = min(experiment.training.batch, LARGEST_BATCH, max(2, LARGEST_PIXELS // pixels))
    images = torch.rand(count, *image_shape, device=device).to(memory_format=torch.channels_last)
    return _fastest({way: _seconds(trunk, images, way) for way in ways})


def _ways(machine: Machine, trunk: Trunk, device: torch.device) -> list[Way]:
    """What may be chosen from; a compiler is asked for only where it could be of use."""
    may_fuse = device.type == "cpu" and is_fusible(trunk) and library() is not None
    precisions: list[Precision] = [machine.precision]
    kernels: list[Kernels] = [machine.kernels]
    if machine.precision == "auto":
        precisions = ["float32", "bfloat16"]
    if machine.kernels == "auto":
        kernels = ["plain", "fused"] if may_fuse else ["plain"]
    return list(itertools.product(precisions, kernels))


def _fastest(seconds: dict[Way, float]) -> Way:
    """What gains too little is not worth other last bits."""
    return min(seconds, key=lambda way: seconds[way] * math.prod(GAIN_WANTED[one] for one in way))


def _seconds(trunk: Trunk, images: torch.Tensor, way: Way) -> float:
    precision, kernels = way
    fuse(trunk, kernels == "fused")
    found = []
    for _ in range(REPETITIONS + 1):
        started = time.perf_counter()
        with autocast(images.device, precision):
            features = trunk(images).features
        features.float().sum().backward()
        if images.device.type == "cuda":
            torch.cuda.synchronize()
        found.append(time.perf_counter() - started)
    return min(found[1:])
