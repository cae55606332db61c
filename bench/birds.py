"""Classes of photographs that come in lessons: `remanence learn` beside what else one could do.

FOLDER has train/ and test/, each with a sub-folder a class. The classes, sorted by name, are taught
in lessons as the command teaches them, with so many photographs kept; all is tested on test/, which
nobody has seen before. Beside it, on the same features of the same frozen network:

  finetune    a linear head trained on the photographs of each lesson, and on those that are kept
  means       the nearest class mean of unit vectors, which needs no old photograph
  joint       a linear probe on all photographs so far, as if none were ever taken away

python bench/birds.py FOLDER --lessons 10,5,5 --keep 0,5,20 --out results/photographs/birds.json
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remanence.core.progress import Progress
from remanence.learning import Labelled, Pupil, Wishes, learn
from remanence.learning.cache import FeatureCache
from remanence.learning.examining import examine
from remanence.learning.featuring import features_of
from remanence.memory import herd
from remanence.photographs.scan import albums, class_folders, subfolders
from remanence.predictor import Predictor

EPOCHS, RATE, BATCH = 60, 0.1, 32  # of the head that is finetuned
STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # of the probe, chosen on the training photographs
FOLDS = 3

Groups = list[range]  # the labels of each lesson
Matrix = list[list[float]]  # after each lesson (rows), the accuracy on the classes of each


@dataclass(frozen=True)
class Rivals:
    """Features of all photographs, and the classes of each lesson."""

    train: Labelled
    test: Labelled
    groups: Groups

    def taught(self, lesson: int) -> Labelled:
        """The photographs of one lesson."""
        return self.train.only(self._within(self.train, self.groups[lesson]))

    def until(self, lesson: int) -> Labelled:
        """Those of all lessons up to one."""
        return self.train.only(self.train.labels < self.groups[lesson].stop)

    def scores(self, say: Callable[[Tensor], Tensor], lesson: int) -> list[float]:
        """Accuracy on the classes of each lesson so far, as `say` names them."""
        found = []
        for group in self.groups[: lesson + 1]:
            asked = self.test.only(self._within(self.test, group))
            found.append(100 * float((say(asked.features) == asked.labels).double().mean()))
        return found

    @staticmethod
    def _within(photographs: Labelled, group: range) -> Tensor:
        return (photographs.labels >= group.start) & (photographs.labels < group.stop)


def joint(rivals: Rivals) -> Matrix:
    """A linear probe on everything: L2-regularised logistic regression on standardised features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    matrix = []
    for lesson in range(len(rivals.groups)):
        features, labels = (one.numpy() for one in rivals.until(lesson))
        probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
        grid = {"logisticregression__C": [one / features.shape[1] for one in STRENGTHS]}
        search = GridSearchCV(probe, grid, cv=FOLDS).fit(features, labels)

        def say(asked: Tensor, search: Any = search) -> Tensor:
            return torch.from_numpy(search.predict(asked.numpy()))

        matrix.append(rivals.scores(say, lesson))
    return matrix


def means(rivals: Rivals) -> Matrix:
    """The class whose mean unit vector is nearest."""
    matrix = []
    for lesson, group in enumerate(rivals.groups):
        known = rivals.until(lesson)
        unit = F.normalize(known.features)
        rows = torch.stack([unit[known.labels == label].mean(0) for label in range(group.stop)])
        rows = F.normalize(rows)
        matrix.append(rivals.scores(lambda asked, rows=rows: (asked @ rows.T).argmax(1), lesson))
    return matrix


def finetuned(rivals: Rivals, keep: int) -> Matrix:
    """A linear head that sees each lesson's photographs, and `keep` of each class before."""
    torch.manual_seed(0)
    scale = rivals.taught(0).features.norm(dim=1).mean()
    width = rivals.train.features.shape[1]
    head, kept, matrix = None, Labelled.nothing(width), []
    for lesson, group in enumerate(rivals.groups):
        taught = rivals.taught(lesson)
        head = _grown(head, width, group.stop)
        _train(head, Labelled(taught.features / scale, taught.labels).and_then(kept))
        kept = kept.and_then(_herded(taught, group, keep, scale))

        def say(asked: Tensor, head: nn.Linear = head) -> Tensor:
            with torch.no_grad():
                return head(asked / scale).argmax(1)

        matrix.append(rivals.scores(say, lesson))
    return matrix


def _grown(head: nn.Linear | None, width: int, classes: int) -> nn.Linear:
    larger = nn.Linear(width, classes)
    if head is not None:
        with torch.no_grad():
            larger.weight[: head.out_features] = head.weight
            larger.bias[: head.out_features] = head.bias
    return larger


def _train(head: nn.Linear, pool: Labelled) -> None:
    optimiser = torch.optim.SGD(head.parameters(), RATE, momentum=0.9, weight_decay=1e-4)
    for _ in range(EPOCHS):
        for part in torch.randperm(len(pool.labels)).split(BATCH):
            optimiser.zero_grad()
            F.cross_entropy(head(pool.features[part]), pool.labels[part]).backward()
            optimiser.step()


def _herded(taught: Labelled, group: range, keep: int, scale: Tensor) -> Labelled:
    kept = Labelled.nothing(taught.features.shape[1])
    for label in group if keep else ():
        of_class = taught.only(taught.labels == label)
        chosen = of_class.only(herd(of_class.features, keep))
        kept = kept.and_then(Labelled(chosen.features / scale, chosen.labels))
    return kept


def learned(folder: Path, groups: Groups, keep: int, scratch: Path) -> dict[str, Any]:
    """The lessons by the real `learn`, each examined on the test folder."""
    names = subfolders(folder / "train")
    matrix, seconds, claimed = [], [], []
    for lesson, group in enumerate(groups):
        photos = _linked(folder, [names[label] for label in group], scratch / f"{keep}-{lesson}")
        model, begun = scratch / f"{keep}.model", time.perf_counter()
        version = learn(model, photos, Wishes(keep=str(keep)))
        seconds.append(round(time.perf_counter() - begun, 1))
        claimed.append(version.measured.all)
        found = examine(Predictor.load(model), folder / "test", Progress())
        row = [found.accuracy(found.of_version(one)) for one in found.versions]
        matrix.append([float(one) for one in row if one is not None])
    return {
        "matrix": matrix,
        "seconds": seconds,
        "held_out": claimed,
        "calibration_error": found.calibration_error,
        "kept": len(version.kept),
        "bytes": sum(one.bytes for one in version.kept),
    }


def _linked(folder: Path, names: Sequence[str], to: Path) -> Path:
    to.mkdir()
    for name in names:
        (to / name).symlink_to((folder / "train" / name).resolve())
    return to


def rivals_of(folder: Path, groups: Groups) -> Rivals:
    """Features of all photographs by the network and in the size that `learn` chooses."""
    pupil = Pupil.new(Wishes())
    cache = FeatureCache(pupil.trunk, pupil.preprocessing)
    names = subfolders(folder / "train")
    parts = []
    for part in ("train", "test"):
        classes = class_folders(folder, f"{part}/", names)
        side = pupil.preprocessing.side
        seen, _ = albums(folder, classes, dict.fromkeys(names, ()), side, os.cpu_count() or 1)
        parts.append(Labelled(features_of(seen, pupil.network(), cache, Progress()), seen.labels))
    return Rivals(*parts, groups)


def summary(matrix: Matrix, counts: Sequence[int]) -> dict[str, float]:
    """Accuracy after the first lesson and at the end, and what old classes lost in between.

    counts: the test photographs of each lesson's classes. lost: points from when a class was
    learned to the end, over the photographs of all classes but the last lesson's.
    """
    last = matrix[-1]
    right = sum(one * count for one, count in zip(last, counts, strict=True))
    old = list(enumerate(counts[:-1]))
    lost = sum((matrix[lesson][lesson] - last[lesson]) * count for lesson, count in old)
    return {
        "first": matrix[0][0],
        "last": right / sum(counts),
        "lost": lost / max(1, sum(counts[:-1])),
    }


def measure(folder: Path, sizes: Sequence[int], keeps: Sequence[int]) -> dict[str, Any]:
    """All rows of the table."""
    groups = [range(*pair) for pair in pairwise([0, *accumulate(sizes)])]
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for keep in keeps:
            rows[f"learn --keep {keep}"] = learned(folder, groups, keep, Path(scratch))
            print(f"learned with --keep {keep}", flush=True)
    rivals = rivals_of(folder, groups)
    for keep in keeps:
        rows[f"finetune, {keep} kept"] = {"matrix": finetuned(rivals, keep)}
    rows["means"] = {"matrix": means(rivals)}
    rows["joint"] = {"matrix": joint(rivals)}
    counts = [
        int(((rivals.test.labels >= g.start) & (rivals.test.labels < g.stop)).sum()) for g in groups
    ]
    for row in rows.values():
        row.update(summary(row["matrix"], counts))
    return {"lessons": list(sizes), "test_photographs": counts, "rows": rows}


def show(found: Mapping[str, Any]) -> None:
    """The table."""
    first, end = found["lessons"][0], sum(found["lessons"])
    print(
        f"{'':22}{f'first {first}':>10}{f'all {end}':>10}{'lost':>8}{'beyond joint':>14}{'s':>18}"
    )
    for name, row in found["rows"].items():
        beyond = row["lost"] - found["rows"]["joint"]["lost"]
        spent = " ".join(map(str, row.get("seconds", ())))
        print(
            f"{name:22}{row['first']:10.1f}{row['last']:10.1f}{row['lost']:8.1f}{beyond:14.1f}{spent:>18}"
        )


def main() -> None:
    """Measure, print the table, and write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="with train/ and test/")
    parser.add_argument("--lessons", default="10,5,5", help="classes in each (default: 10,5,5)")
    parser.add_argument("--keep", default="0,5,20", help="photographs of each class")
    parser.add_argument("--out", type=Path, help="write the table as JSON")
    args = parser.parse_args()
    sizes, keeps = ([int(one) for one in text.split(",")] for text in (args.lessons, args.keep))
    found = measure(args.folder, sizes, keeps)
    show(found)
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
