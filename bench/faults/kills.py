"""SIGKILL at random instants, and at those that a run is most easily hurt in."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

from faults.subject import Started, Subject, learned, told
from faults.tally import Tally

Trigger = Callable[[], bool]
LAST_EPOCH = 1
MOST_RUNS = 10  # for each kill
SOON = 0.15  # seconds that choosing exemplars and reading the network take


def kills(subject: Subject, count: int, where: Path, tally: Tally, chance: random.Random) -> None:
    """Kill one run again and again until it ends, then the next one."""
    length = _length(subject, where / "timed")
    aims = list(AIMS)
    done, runs = 0, 0
    while done < count:
        folder = where / f"killed-{runs}"
        runs, used = runs + 1, []
        for _ in range(10):
            aim = aims[(done + len(used)) % len(aims)]
            if not _killed(subject, folder, aim, length, chance):
                break
            used.append(aim)
            tally.moments[_moment(folder)] += 1
            with tally.watched(f"SIGKILL {aim}"):
                _check_kept(folder)
        with tally.watched("SIGKILL"):
            end = subject.done(folder)
            assert end.code == 0, end.last
            _check_kept(folder)
            assert subject.same(folder), f"{folder} differs"
            for aim in used:
                tally.count(f"SIGKILL {aim}", "survived")
        done += len(used)
        assert runs < MOST_RUNS * count, "no process lives until it is killed"


def _killed(subject: Subject, folder: Path, aim: str, length: float, chance: random.Random) -> bool:
    """Start, and kill at the moment that is aimed at; False where the end came first."""
    before = told(folder)
    trigger = AIMS[aim](folder)
    process = subject.start(folder, "--save-every", chance.choice(["0", "0.05", "60"]))
    if aim == "at a random instant":
        process.process.join(chance.uniform(0, length))
    else:
        _wait(process, trigger)
        time.sleep(chance.uniform(0, SOON) if aim == "while exemplars are chosen" else 0)
    killed = process.killed()
    _note(folder, before)
    return killed


def _wait(process: Started, trigger: Trigger) -> None:
    while process.process.is_alive() and not trigger():
        time.sleep(0.0002)


def _length(subject: Subject, folder: Path) -> float:
    start = time.monotonic()
    assert subject.done(folder).code == 0
    return time.monotonic() - start


def _note(folder: Path, before: int) -> None:
    """Keep beside the run how many increments were told of before each of its processes."""
    notes = folder.with_suffix(".told")
    earlier = notes.read_text() if notes.exists() else ""
    notes.write_text(f"{earlier}{len(learned(folder))} {before}\n")


def _check_kept(folder: Path) -> None:
    """No process learned again what was said to be finished before it."""
    notes = folder.with_suffix(".told").read_text().splitlines()
    processes = learned(folder)
    for started, before in (map(int, line.split()) for line in notes):
        again = [one for one in processes[started - 1 : started] for one in one if one < before]
        assert not again, f"{folder}: increment {again} was finished and learned again"


def _unfinished(folder: Path, name: str) -> Trigger:
    return lambda: any(folder.rglob(f".{name}*.part"))


def _changed(file: Path) -> Trigger:
    def inode() -> int:
        try:
            return file.stat().st_ino
        except OSError:
            return 0

    was = inode()
    return lambda: inode() not in (0, was)


def _exemplars(folder: Path) -> Trigger:
    """The last epoch of another increment is told of."""
    was = len(_last_epochs(folder))
    return lambda: len(_last_epochs(folder)) > was


def _last_epochs(folder: Path) -> list[int]:
    log = folder / "log.jsonl"
    found = []
    for line in log.read_text(errors="replace").splitlines() if log.exists() else ():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event["event"] == "epoch" and event["epoch"] == LAST_EPOCH:
            found.append(event["increment"])
    return found


AIMS: dict[str, Callable[[Path], Trigger]] = {
    "at a random instant": lambda folder: lambda: True,
    "while a checkpoint is written": lambda folder: _unfinished(folder, "learner"),
    "while a checkpoint is renamed": lambda folder: _changed(
        folder / "checkpoints" / "before.safetensors"
    ),
    "while a session is saved": lambda folder: _unfinished(folder, "session"),
    "while exemplars are chosen": _exemplars,
    "while an increment is written down": lambda folder: _unfinished(folder, "0"),
    "between increments": lambda folder: _changed(folder / "records.jsonl"),
}


def _moment(folder: Path) -> str:
    """What a killed process was doing, as far as its folder tells."""
    parts = sorted(file.name.split(".")[1] for file in folder.rglob(".*.part"))
    if parts:
        return f"writing {'an increment' if parts[0].isdigit() else parts[0]}"
    checkpoints = folder / "checkpoints"
    there = {name: (checkpoints / f"{name}.safetensors").exists() for name in ("learner", "before")}
    if there["before"] and not there["learner"]:
        return "one checkpoint renamed, the next not yet there"
    ledgers, last = len(list((folder / "kept").glob("*.jsonl"))), _last_epochs(folder)
    if ledgers > told(folder):
        return "increment written, not yet told of"
    if last and last[-1] >= ledgers:
        return "choosing exemplars or reading the network"
    return "learning" if any(learned(folder)[-1:]) else "starting, or between increments"
