"""From a folder of photographs to the next version of a model."""

from __future__ import annotations

from pathlib import Path

import torch

from remanence.core.errors import DataError, FolderError, GateRefused
from remanence.core.progress import Progress
from remanence.data.base import Splits
from remanence.learning import from_nothing
from remanence.learning.cache import FeatureCache
from remanence.learning.describing import described
from remanence.learning.featuring import features_of
from remanence.learning.keeping import Candidate, Keepsakes, keep
from remanence.learning.knowledge import Labelled, Lesson
from remanence.learning.past import Past, memory_of
from remanence.learning.pupil import Pupil
from remanence.learning.reading import Reading, read
from remanence.learning.wishes import Budget, Wishes
from remanence.model.description import Description
from remanence.model.folder import Content, ModelFolder

OURS = {"current", "versions", "kept", "lock", "report.html", from_nothing.FOLDER}


def learn(
    model: str | Path,
    photographs: str | Path,
    wishes: Wishes | None = None,
    progress: Progress | None = None,
) -> Description:
    """Make a model of a folder with one sub-folder a class, or add those classes to it.

    The description of the version that came of it, which is in use then. A version that forgets
    more than `wishes.max_drop` is kept but not used, and GateRefused says so. Where nothing is new,
    it is the version that was in use.
    """
    wishes, progress = wishes or Wishes(), progress or Progress()
    folder = ModelFolder(Path(model))
    check_ours(folder.path)
    with folder.changing():
        past = Past.of(folder, wishes)
        progress.doing("reading the photographs")
        side = past.pupil.preprocessing.side
        reading = read(Path(photographs), side, past.told, wishes)
        for line in reading.notes:
            progress.said(line)
        if reading.names:
            return _learned(folder, past, reading, wishes, progress)
        if past.version is None:
            raise DataError(f"{photographs} holds no photograph that can be read: add some")
        progress.said("nothing is new: the model has learned from all of these photographs before")
        return past.version


def _learned(
    folder: ModelFolder, past: Past, reading: Reading, wishes: Wishes, progress: Progress
) -> Description:
    """The next version, written and in use."""
    pupil = past.pupil
    if past.version is None:
        _check_several(reading)
        pupil = _schooled(pupil, reading, wishes, folder.path, progress)
    reading, lesson = _seen(pupil, reading, progress)
    progress.doing("learning")
    pupil = pupil.after(lesson)
    progress.doing("choosing what is kept")
    keepsakes = _kept(past, pupil, reading, lesson, wishes)
    number = max(folder.versions, default=0) + 1
    description = described(number, past, pupil, reading, keepsakes, wishes)
    head = dict(zip(("weight", "bias"), pupil.knowledge.rows(), strict=True))
    memory = memory_of(pupil, {**past.told, **reading.told}, keepsakes.features)
    folder.add(Content(description, pupil.trunk.state_dict(), head, memory, keepsakes.new))
    if description.refused:
        raise GateRefused(
            f"version {number} is not taken into use: {description.refused}; "
            f"'remanence rollback {folder.path} {number}' takes it all the same"
        )
    folder.use(number)
    from_nothing.forget(folder.path)
    return description


def _schooled(
    pupil: Pupil, reading: Reading, wishes: Wishes, model: Path, progress: Progress
) -> Pupil:
    """The pupil with a trunk that is of use."""
    if pupil.trunk.pretrained:
        return pupil
    progress.said("the network is not pretrained: it learns from these photographs alone")
    splits = Splits(reading.taught.lent(), reading.held, reading.names)
    return from_nothing.trained(pupil, splits, wishes, model, progress)


def _seen(pupil: Pupil, reading: Reading, progress: Progress) -> tuple[Reading, Lesson]:
    """The features of a reading, without the files that turned out to be no images."""
    progress.doing("looking at the photographs")
    network, cache = pupil.network(), FeatureCache(pupil.trunk, pupil.preprocessing)
    both = reading.taught.joined(reading.held)
    features = features_of(both, network, cache, progress)
    is_seen = torch.tensor([name not in both.unreadable for name in both.names()])
    for name, why in both.unreadable.items():
        progress.said(f"left out because it cannot be read as an image: {name}: {why}")
    of_taught, of_held = is_seen.split([len(reading.taught), len(reading.held)])
    taught, held = features.split([len(reading.taught), len(reading.held)])
    reading = reading.only(of_taught, of_held)
    lesson = Lesson(
        reading.names,
        Labelled(taught[of_taught], reading.taught.labels),
        Labelled(held[of_held], reading.held.labels),
        reading.only_measured,
    )
    return reading, lesson


def _kept(past: Past, pupil: Pupil, reading: Reading, lesson: Lesson, wishes: Wishes) -> Keepsakes:
    """The photographs to keep, of those that are kept and those that were learned from."""
    old = past.version.kept if past.version else ()
    candidates = [
        Candidate(one.label, features, kept=one)
        for one, features in zip(old, past.kept_features, strict=True)
    ]
    place = [pupil.knowledge.names.index(name) for name in reading.names]
    rows = zip(reading.taught.names(), *lesson.taught, strict=True)
    candidates += [
        Candidate(place[int(label)], features, file=reading.taught.album.folder / name, name=name)
        for name, features, label in rows
    ]
    budget = Budget.of(past.budget_words(wishes))
    return keep(candidates, budget, pupil.preprocessing.side)


def check_ours(path: Path) -> None:
    """A folder of something else is left alone."""
    if not path.exists():
        return
    if not path.is_dir():
        raise FolderError(f"{path} is a file: name a folder for the model")
    others = sorted({one.name for one in path.iterdir()} - OURS)
    if others and not ModelFolder(path).exists:
        raise FolderError(f"{path} holds something else ({others[0]}): name a folder of its own")


def _check_several(reading: Reading) -> None:
    if len(reading.names) < 2:
        raise DataError(
            f"there is only the class '{reading.names[0]}': a new model takes two to tell apart"
        )
