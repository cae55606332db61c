"""What is fastest on the machine at hand, measured once and remembered.

Whether bfloat16 pays hangs on the processor: with instructions for it a ResNet trains twice as
fast, without them many times slower. So it is tried, on one batch of the images and the network
that are to be trained, and the outcome kept in the cache folder: another run on this machine
decides the same, and ends with the same bits.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import platform
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from remanence.backbones.base import Trunk
from remanence.core import files
from remanence.core.errors import FolderError
from remanence.core.machine import Precision
from remanence.core.settings import encode
from remanence.experiment import Experiment
from remanence.network import autocast

GAIN_WANTED = 1.2
REPETITIONS = 3
LARGEST_BATCH = 128
LARGEST_PIXELS = 128 * 32 * 32  # of a batch: larger images are measured in smaller batches


def tuned(experiment: Experiment, image_shape: tuple[int, ...], device: torch.device) -> Experiment:
    """The experiment with its precision decided, where that was left to the machine."""
    machine = experiment.machine
    if machine.precision != "auto":
        return experiment
    file = files.cache_folder() / "precision.json"
    key = _key(experiment, image_shape, device)
    precision = _remembered(file).get(key)
    if precision is None:
        with _alone(file):
            known = _remembered(file)
            precision = known.get(key) or _measured(experiment, image_shape, device)
            _remember(file, known | {key: precision})
    machine = dataclasses.replace(machine, precision=precision)
    return dataclasses.replace(experiment, machine=machine)


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
    what = {
        "backbone": encode(experiment.backbone),
        "image": image_shape,
        "batch": experiment.training.batch,
        "device": torch.cuda.get_device_name(device) if on_gpu else platform.machine(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "host": platform.node(),
    }
    text = json.dumps(what, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


def _remembered(file: Path) -> dict[str, Precision]:
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    named = known if isinstance(known, dict) else {}
    return {key: value for key, value in named.items() if value in ("float32", "bfloat16")}


def _remember(file: Path, known: dict[str, Precision]) -> None:
    try:
        files.make_folder(file.parent)
        files.write(file, json.dumps(known, indent=2) + "\n")
    except FolderError:
        return  # a cache that cannot be written is none: the next run measures again


def _measured(
    experiment: Experiment, image_shape: tuple[int, ...], device: torch.device
) -> Precision:
    """The precision in which one batch goes through the trunk and back sooner."""
    assert experiment.backbone is not None and experiment.training.batch is not None
    pixels = image_shape[-1] * image_shape[-2]
    count = min(experiment.training.batch, LARGEST_BATCH, max(2, LARGEST_PIXELS // pixels))
    images = torch.rand(count, *image_shape, device=device).to(memory_format=torch.channels_last)
    trunk = experiment.backbone.build(image_shape[0]).to(device)
    trunk.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    seconds = {name: _seconds(trunk, images, name) for name in ("float32", "bfloat16")}
    return "bfloat16" if seconds["float32"] > GAIN_WANTED * seconds["bfloat16"] else "float32"


def _seconds(trunk: Trunk, images: torch.Tensor, precision: str) -> float:
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
