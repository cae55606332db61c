"""The whole algorithm: increments come, the learner meets each, trains, remembers, is read."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import torch

from remanence.augment import augmentation
from remanence.core import files, ranks
from remanence.core.errors import SettingsError
from remanence.core.machine import Kernels, Machine, Precision
from remanence.core.origin import commit, processor
from remanence.core.progress import Progress
from remanence.data.base import Images, Splits
from remanence.engine import readings
from remanence.engine.bases import SharedBase
from remanence.engine.diary import Diary, check_same_data, decided, open_diary
from remanence.engine.evaluate import evaluate
from remanence.engine.fit import Course, Fit, Learned
from remanence.engine.keeper import Keeper
from remanence.engine.learner import Learner
from remanence.engine.tuning import tuned
from remanence.experiment import Experiment
from remanence.photographs.collection import Photographs
from remanence.records import Record
from remanence.session import Session
from remanence.stream import Increment, Stream, make_stream


@dataclass(frozen=True)
class Place:
    """Where and how a run is kept.

    folder: the run folder. bases: where base increments are shared, if they are.
    recipe: the name of the recipe it came from. save_every: seconds between checkpoints.
    """

    folder: Path
    bases: Path | None = None
    recipe: str | None = None
    save_every: float = 60.0


def run(
    experiment: Experiment,
    place: Place | Path | str,
    progress: Progress | None = None,
    splits: Splits | None = None,
) -> list[Record]:
    """Run an experiment in a folder, from the start or from where an earlier run was cut.

    splits: the images, where they are at hand; else the experiment says where they are.
    """
    place = place if isinstance(place, Place) else Place(Path(place))
    with ranks.joined():
        return _run(experiment, place, progress or Progress(), splits)


def _run(
    experiment: Experiment, place: Place, progress: Progress, splits: Splits | None
) -> list[Record]:
    device = experiment.machine.prepare()
    progress.doing("reading the data")
    splits = splits or experiment.data.load()
    resolved = experiment.resolved()
    stream = make_stream(splits, resolved.stream)
    check(resolved, stream)
    with _held(place.folder):
        check_same_data(place.folder, splits)
        resolved = _tuned(resolved, place.folder, splits.train, device)
        diary = open_diary(place.folder, experiment, resolved, place.recipe)
        diary.log("started", **_surroundings(stream, splits, device))
        for line, listed in splits.notes.items():
            _tell(diary, progress, line, listed)
        learner = Learner(resolved, splits.train, splits.mean_image, device)
        keeper = Keeper(diary.save_session, place.save_every)
        base = None
        if place.bases:
            first = stream.increments[0]
            base = SharedBase(place.bases, learner, first, splits.fingerprint)
        learn_all(learner, stream.increments, Course(diary, keeper, progress), base)
        diary.log("finished")
    return diary.records


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """The run folder, for the first rank to write in and for all to read."""
    with contextlib.ExitStack() as held:
        if ranks.is_first():
            files.make_folder(folder)
            held.enter_context(files.locked(folder))
        ranks.wait()
        yield
        ranks.wait()


def learn_all(
    learner: Learner, increments: Sequence[Increment], course: Course, base: SharedBase | None
) -> None:
    """Go through the increments that are not finished yet."""
    finished = course.diary.resume(learner)
    for increment in increments[:finished]:
        increment.train.close(learner.exemplars)
    gray = 0
    plan = planned_steps(learner.experiment, increments)
    course.progress.planned(sum(plan))
    course.progress.stepped(sum(plan[:finished]))
    with course.keeper.listening():
        for increment in increments[finished:]:
            course.progress.doing(f"increment {increment.number}/{len(increments) - 1}: learning")
            session = learner.meet(increment)
            if base and session.teacher is None:
                learned = _learn_base(learner, session, course, base, increment)
            else:
                learned = _fit(learner, session, course)
            course.progress.doing(f"increment {increment.number}/{len(increments) - 1}: reading")
            learner.close(session, learned.chosen)
            known = increments[: increment.number + 1]
            increment.train.close(learner.exemplars)
            record, predictions = evaluate(learner, known)
            record = dataclasses.replace(record, skipped=learned.skipped)
            ranks.check_same(str(record.kept["hash"]))
            course.diary.close_increment(learner, record, predictions)
            gray = _tell_unreadable(course, increment.train.unreadable, gray)
            course.progress.learned(increment.number)
            course.keeper.increment_done()


def _fit(learner: Learner, session: Session, course: Course) -> Learned:
    return Fit(learner, session, course).run(course.diary.saved_session(session.increment))


def _learn_base(
    learner: Learner, session: Session, course: Course, base: SharedBase, increment: Increment
) -> Learned:
    """Take the base increment from the store, or train it for whoever needs it next."""
    with base.reserved(course.keeper.stop_if_asked):
        skipped = base.take(learner.network)
        if skipped is not None:
            course.progress.said("the base increment was trained before: taken from there")
            course.progress.stepped(*planned_steps(learner.experiment, [increment]))
            return Learned(skipped=skipped)
        learned = _fit(learner, session, course)
        base.give(learner.network, learned.skipped)
        return learned


def _tell_unreadable(course: Course, unreadable: Mapping[str, str], told: int) -> int:
    """Tell of the files that turned out to be no images since so many were told of."""
    listed = [f"{name}: {why}" for name, why in list(unreadable.items())[told:]]
    if listed:
        line = f"files that cannot be decoded and are seen as plain gray: {len(listed)}"
        _tell(course.diary, course.progress, line, listed)
    return told + len(listed)


def _tell(diary: Diary, progress: Progress, line: str, listed: Sequence[str]) -> None:
    """A line for the user, and the list of what it is about for the log."""
    progress.said(f"{line}; they are listed in {diary.folder / 'log.jsonl'}")
    diary.log("note", note=line, listed=list(listed))


def check(experiment: Experiment, stream: Stream) -> None:
    """Refuse before any work what could only fail later."""
    _check_augmentation(experiment, stream.increments[0].train)
    wanted = experiment.memory.per_class if experiment.memory.total is None else 0
    for increment in stream.increments:
        there_are, name = min(zip(increment.counts, increment.names, strict=True))
        if wanted > there_are:
            raise SettingsError(
                f"memory.per_class: {wanted} are to be kept, but class '{name}' has only "
                f"{there_are} training images; keep at most that many"
            )
    experiment.method.check(stream.increments, experiment.effects, experiment.memory)
    readings.check(experiment, stream.increments[-1].classes)
    for effect in experiment.effects:
        effect.check(stream.increments)


def _check_augmentation(experiment: Experiment, images: Images) -> None:
    name, channels = experiment.training.augmentation, images.shape[0]
    assert name is not None
    chosen, are_files = augmentation(name), isinstance(images, Photographs)
    wrong = None
    if len(chosen.mean) != channels:
        wrong = f"for images of {len(chosen.mean)} channels, but these have {channels}"
    elif chosen.crops and not are_files:
        wrong = "for photographs that are decoded as random crops, but these are in memory"
    elif chosen.subtracts_mean_image and are_files:
        wrong = "for images in memory, whose mean it subtracts, but these are files"
    if wrong:
        raise SettingsError(
            f"training.augmentation: {name} is {wrong}; leave it open for the data's own"
        )


def planned_steps(experiment: Experiment, increments: Sequence[Increment]) -> list[int]:
    """Steps of gradient descent that the main stage of each increment takes."""
    training = experiment.training
    assert training.batch is not None
    plan = []
    for increment in increments:
        kept = experiment.memory.share(increment.classes) * increment.first_class
        steps = math.ceil((len(increment.train) + kept) / training.batch)
        plan.append(training.epochs_of(increment.number) * steps)
    return plan


def _tuned(
    experiment: Experiment, folder: Path, images: Images, device: torch.device
) -> Experiment:
    """Decide what is left to the machine: as an earlier, cut run in this folder did, if one did."""
    experiment = _counted(experiment)
    known = decided(folder)
    is_open = [name for name in known if getattr(experiment.machine, name) == "auto"]
    machine = dataclasses.replace(experiment.machine, **{name: known[name] for name in is_open})
    found = tuned(dataclasses.replace(experiment, machine=machine), images.shape, device)
    return dataclasses.replace(found, machine=_agreed(found.machine))


def _agreed(machine: Machine) -> Machine:
    """What the first rank has measured counts for all."""
    told = {}
    for name, choices in (("precision", get_args(Precision)), ("kernels", get_args(Kernels))):
        told[name] = choices[ranks.first_of(choices.index(getattr(machine, name)))]
    return dataclasses.replace(machine, **told)


def _counted(experiment: Experiment) -> Experiment:
    """The experiment with the number of its ranks, which decides the last bits as well."""
    machine = experiment.machine
    if machine.ranks not in (None, ranks.count()):
        raise SettingsError(
            f"machine.ranks: {machine.ranks} are wanted, but {ranks.count()} were started: "
            f"torchrun --nproc-per-node {machine.ranks} -m remanence run ..."
        )
    return dataclasses.replace(
        experiment, machine=dataclasses.replace(machine, ranks=ranks.count())
    )


def _surroundings(stream: Stream, splits: Splits, device: torch.device) -> dict[str, object]:
    return {
        "order": stream.order_hash,
        "classes": stream.class_names,
        "data": splits.fingerprint,
        "device": str(device),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": processor(device),
        "commit": commit(),
    }
