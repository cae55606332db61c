"""Long and large: a thousand increments of one class, a head of a hundred thousand classes, and a
folder of a hundred thousand photographs.

    python bench/long.py
    python bench/long.py --increments 100 --classes 1000 --photographs 1000     in a minute

Time and memory of each increment are drawn in results/reliability/long.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch
from faults.surroundings import surroundings
from PIL import Image

from remanence.core.progress import Progress
from remanence.data.base import Images, Splits
from remanence.data.folder import Folder
from remanence.engine.run import Place, run
from remanence.experiment import Experiment
from remanence.heads import CosineHead

RESULT = Path("results/reliability/long.json")
CHOSEN = {
    "method": "lucir",
    "effects": {"colliding": {"neighbours": 1}},
    "memory": {"per_class": 1},
    "training": {"epochs": 1, "batch": 64},
    "backbone": {"name": "convnet", "width": 8},
    "machine": {"device": "cpu", "precision": "float32", "threads": 1},
}
WIDTH = 64


class Clock(Progress):
    """When each increment was learned, and how much memory there was then."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.megabytes: list[float] = []
        self._since = time.monotonic()

    def learned(self, increment: int) -> None:
        now = time.monotonic()
        self.seconds.append(now - self._since)
        self.megabytes.append(memory())
        self._since = now


def memory() -> float:
    """Of this process, in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def increments(count: int, folder: Path) -> dict[str, Any]:
    """So many increments of one class, of three images each."""
    chance = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (count * 3, 1, 8, 8), generator=chance).to(torch.uint8)
    images = Images(pixels, torch.arange(count).repeat_interleave(3))
    test = torch.arange(len(images)) % 3 == 2
    splits = Splits(images[~test], images[test], tuple(f"class {n}" for n in range(count)))
    clock = Clock()
    experiment = Experiment.of(CHOSEN, {"stream": {"sizes": [1] * count}})
    records = run(experiment, Place(folder, save_every=1e9), clock, splits)
    assert len(records) == count
    draw(clock, RESULT.with_suffix(".svg"))
    tenth = max(1, count // 10)
    return {
        "increments": count,
        "seconds": round(sum(clock.seconds), 1),
        "milliseconds_each": growth([1000 * one for one in clock.seconds], tenth),
        "megabytes": growth(clock.megabytes, tenth),
        "folder_megabytes": round(sum(f.stat().st_size for f in folder.rglob("*")) / 2**20, 1),
    }


def growth(values: list[float], part: int) -> dict[str, float]:
    """Medians of the first, the middle and the last part."""
    middle = len(values) // 2
    cuts = {
        "first": values[:part],
        "middle": values[middle : middle + part],
        "last": values[-part:],
    }
    return {name: round(float(np.median(cut)), 1) for name, cut in cuts.items()}


def draw(clock: Clock, path: Path) -> None:
    """Time and memory against the increment."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, 1, figsize=(7, 5), sharex=True, layout="tight")
    above.plot(clock.seconds, linewidth=0.6)
    above.set(
        ylabel="seconds an increment", ylim=(0, float(np.quantile(clock.seconds, 0.99)) * 1.3)
    )
    below.plot(clock.megabytes)
    below.set(ylabel="megabytes", xlabel="increment (one class each)", ylim=(0, None))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def head(classes: int) -> dict[str, Any]:
    """A cosine head of so many classes on features that are made: what it takes, what it says."""
    chance = torch.Generator().manual_seed(0)
    rows = torch.randn(classes, WIDTH, generator=chance)
    grown = CosineHead(WIDTH)
    before, start = memory(), time.monotonic()
    for part in rows.split(max(1, classes // 10)):
        grown.grow(part)
    built = time.monotonic() - start
    picked = torch.randint(classes, (500,), generator=chance)
    features = rows[picked] + 0.1 * torch.randn(500, WIDTH, generator=chance)
    start = time.monotonic()
    with torch.no_grad():
        right = (grown(features).logits.argmax(1) == picked).float().mean()
    return {
        "classes": classes,
        "width": WIDTH,
        "calculated_megabytes": round(classes * WIDTH * 4 / 2**20, 1),
        "measured_megabytes": round(memory() - before, 1),
        "milliseconds_to_grow": round(1000 * built),
        "milliseconds_for_500_images": round(1000 * (time.monotonic() - start)),
        "named_rightly_percent": round(100 * float(right), 1),
    }


def photographs(count: int, folder: Path) -> dict[str, Any]:
    """A folder of so many photographs, found, looked at, split and counted."""
    for number in range(count):
        below = folder / f"{number % 10}"
        below.mkdir(parents=True, exist_ok=True)
        pixels = np.array([[[number % 256, number // 256 % 256, number // 65536]]], np.uint8)
        Image.fromarray(pixels).save(below / f"{number}.bmp")
    start = time.monotonic()
    splits = Folder(folder=str(folder), size=8).load()
    assert len(splits.train) + len(splits.test) == count
    return {"photographs": count, "seconds_to_load": round(time.monotonic() - start, 1)}


def main() -> int:
    """All three, one after the other."""
    args = _arguments()
    start, where = time.monotonic(), Path(tempfile.mkdtemp(prefix="long-"))
    os.environ["XDG_CACHE_HOME"] = str(where / "cache")
    found = {
        "head": head(args.classes),
        "folder": photographs(args.photographs, where / "photographs"),
        "run": increments(args.increments, where / "run"),
    }
    command = (
        f"python bench/long.py --increments {args.increments} --classes {args.classes} "
        f"--photographs {args.photographs}"
    )
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    tree = found | surroundings(command, time.monotonic() - start)
    RESULT.write_text(json.dumps(tree, indent=2) + "\n")
    print(json.dumps(found, indent=2))
    shutil.rmtree(where)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (("increments", 1000), ("classes", 100_000), ("photographs", 100_000)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"(default: {default})")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
