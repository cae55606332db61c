"""All that a run writes: the experiment as chosen, records, log, checkpoints, predictions.

    experiment.json              as chosen and as resolved, and the version that ran it
    records.jsonl                one line for each increment
    log.jsonl                    what happened when; the only file with times in it
    predictions/003.safetensors  the class every reading gave each test image, and the record
    kept/003.jsonl               the exemplars: a line each with class, source, hash and bytes
    checkpoints/learner...       all that was learned up to the last finished increment
    checkpoints/before...        the same one increment earlier, for those who look back
    checkpoints/session...       where the current increment stands
    checkpoints/experiment-...   a copy: nobody's checkpoints are taken for another experiment's

The learner's checkpoint is the truth: it says how many increments are finished. What an increment
came to is written once, before that checkpoint counts it, and never again; the other files are
written from these, so that a crash between two writes leaves nothing that contradicts them. What
an increment adds to the folder does not grow with the number of those that are over, but for what
it says of each class.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from torch import Tensor

from remanence.core import archive, files, ranks
from remanence.core.errors import DataError, FolderError
from remanence.core.settings import differences
from remanence.data.base import Splits
from remanence.engine.learner import Learner
from remanence.experiment import Experiment, said
from remanence.records import Record, as_text, read_records
from remanence.run_folder import (
    DESCRIPTION,
    described,
    predictions_file,
    read_description,
    read_log,
)

LEARNER = Path("checkpoints", "learner.safetensors")
BEFORE = Path("checkpoints", "before.safetensors")
SESSION = Path("checkpoints", "session.safetensors")
COPY = Path("checkpoints", "experiment-copy.json")
RECORDS = "records.jsonl"
DECIDED = ("precision", "kernels")


class Diary:
    """The run folder. Opening it on another experiment's folder is refused."""

    def __init__(
        self, folder: Path, chosen: Experiment, resolved: Experiment, recipe: str | None = None
    ) -> None:
        self.folder = folder
        self.records: list[Record] = []
        self._tree = resolved.tree()
        self._open(chosen, recipe)

    def _open(self, chosen: Experiment, recipe: str | None) -> None:
        for below in ("checkpoints", "predictions", "kept"):
            files.make_folder(self.folder / below)
        self._claim(chosen, recipe)
        files.end_line(self.folder / "log.jsonl")
        ranks.wait()

    def _claim(self, chosen: Experiment, recipe: str | None) -> None:
        other = _experiment_of(self.folder)
        found = differences(said(other or self._tree), said(self._tree))
        changes = [f"{key} {old!r} -> {new!r}" for key, old, new in found]
        if changes:
            raise FolderError(
                f"{self.folder} holds another experiment ({'; '.join(changes)}); "
                "choose another folder with --out, or delete this one"
            )
        earlier = _description(self.folder)
        if earlier:
            text = earlier.read_text(encoding="utf-8")
        else:
            content = {
                "remanence": version("remanence"),
                "recipe": recipe,
                "chosen": chosen.tree(),
                "resolved": self._tree,
            }
            text = described(content)
        for path in (self.folder / COPY, self.folder / DESCRIPTION):
            if not path.exists() or path.read_bytes() != text.encode():
                files.write(path, text)

    def resume(self, learner: Learner) -> int:
        """Load what was learned; the number of increments that are finished."""
        state = last_checkpoint(self.folder)
        if state is not None:
            learner.load(state)
            self.records = self._finished(state)
        self._tidy()
        return len(self.records)

    def _finished(self, state: Mapping[str, Any]) -> list[Record]:
        """The records of the increments that a checkpoint counts; older versions kept them in it"""
        if "records" in state:
            return [Record.from_line(line) for line in state["records"]]
        return [self._written(increment) for increment in range(state["finished"])]

    def _written(self, increment: int) -> Record:
        """What an increment came to, if all that was written of it is whole."""
        file = predictions_file(self.folder, increment)
        if not file.exists():
            return self._told(increment)
        state = read_checkpoint(file, "record", "kept")
        ledger = self._ledger_file(increment)
        if ledger.exists() and _hash(ledger.read_bytes()) != state["kept"]:
            raise FolderError(f"{ledger} is damaged; delete it to go on without it")
        return Record.from_line(state["record"])

    def _told(self, increment: int) -> Record:
        """The same where somebody has deleted the predictions."""
        path = self.folder / RECORDS
        told = {record.increment: record for record in read_records(path)} if path.exists() else {}
        if increment not in told:
            raise FolderError(
                f"what increment {increment} came to is in neither "
                f"{predictions_file(self.folder, increment)} nor {path}; "
                f"delete {self.folder} to run it again"
            )
        return told[increment]

    def _tidy(self) -> None:
        """Bring what is written from the checkpoint up to it."""
        before = self.folder / BEFORE
        if before.exists():
            archive.check(before)
        if self.records or (self.folder / RECORDS).exists():
            files.write(self.folder / RECORDS, as_text(self.records))
        if self.saved_session(len(self.records)) is None:  # of an increment that was closed since
            files.remove(self.folder / SESSION)

    def saved_session(self, increment: int) -> dict[str, Any] | None:
        """Where the session of this increment stood when it was cut, if it was."""
        if not (self.folder / SESSION).exists():
            return None
        state = read_checkpoint(self.folder / SESSION, "increment", "network")
        return state if state["increment"] == increment else None

    def save_session(self, state: Mapping[str, Any]) -> None:
        """Remember where the current session stands."""
        archive.save(self.folder / SESSION, dict(state))

    def close_increment(
        self, learner: Learner, record: Record, predictions: dict[str, Tensor]
    ) -> None:
        """The increment is learned: write it down, and forget where its session stood."""
        ledger = _ledger(learner).encode()
        files.write(self._ledger_file(record.increment), ledger)
        named = {name: labels.short() for name, labels in predictions.items()}
        told = {"record": record.line(), "kept": _hash(ledger)}
        archive.save(predictions_file(self.folder, record.increment), named | told)
        self.records.append(record)
        if (self.folder / LEARNER).exists():
            files.move(self.folder / LEARNER, self.folder / BEFORE)
        archive.save(self.folder / LEARNER, learner.state() | {"finished": len(self.records)})
        files.append(self.folder / RECORDS, as_text([record]))  # a cut is mended by `_tidy`
        files.remove(self.folder / SESSION)
        ranks.wait()

    def log(self, event: str, **facts: Any) -> None:
        """Add a line to the log."""
        line = {"time": round(time.time(), 2), "event": event, **facts}
        files.append(self.folder / "log.jsonl", json.dumps(line) + "\n")

    def _ledger_file(self, increment: int) -> Path:
        return self.folder / "kept" / f"{increment:03}.jsonl"


class Onlooker(Diary):
    """The diary of a rank that is not the first: it reads what the first one writes."""

    def save_session(self, state: Mapping[str, Any]) -> None:
        pass

    def close_increment(
        self, learner: Learner, record: Record, predictions: dict[str, Tensor]
    ) -> None:
        self.records.append(record)
        ranks.wait()

    def log(self, event: str, **facts: Any) -> None:
        pass

    def _open(self, chosen: Experiment, recipe: str | None) -> None:
        ranks.wait()

    def _tidy(self) -> None:
        pass


def open_diary(folder: Path, chosen: Experiment, resolved: Experiment, recipe: str | None) -> Diary:
    """The diary of this rank."""
    kind = Diary if ranks.is_first() else Onlooker
    return kind(folder, chosen, resolved, recipe)


def _ledger(learner: Learner) -> str:
    """What is kept, class after class, the best of each first."""
    kept = learner.exemplars
    sources = zip(kept.labels.tolist(), kept.sources(), strict=True)
    lines = [json.dumps({"class": label} | source._asdict()) for label, source in sources]
    return "".join(f"{line}\n" for line in lines)


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def decided(folder: Path) -> dict[str, Any]:
    """What was left to the machine and decided by an earlier run in this folder, if any was."""
    other = _experiment_of(folder)
    told = other.get("machine") if other else None
    if not isinstance(told, dict):
        return {}
    machine = {"kernels": "plain"} | told
    return {name: machine[name] for name in DECIDED if name in machine}


def _experiment_of(folder: Path) -> dict[str, Any] | None:
    """The experiment of an earlier run in this folder, if there was any."""
    path = _description(folder)
    return dict(read_description(path)["resolved"]) if path else None


def _description(folder: Path) -> Path | None:
    """The file that says what an earlier run in this folder was; its copy where it is gone."""
    there = (folder / file for file in (DESCRIPTION, COPY))
    return next((path for path in there if path.exists()), None)


def check_same_data(folder: Path, splits: Splits) -> None:
    """Raise a DataError where an earlier run in this folder saw other images or labels."""
    told = [event["data"] for event in read_log(folder) if "data" in event]
    if told and told[-1] != splits.fingerprint:
        raise DataError(
            f"the data at hand ({splits.fingerprint}) are not those that {folder} was begun with "
            f"({told[-1]}): put back what was there, or choose another folder with --out"
        )


def last_checkpoint(folder: Path) -> dict[str, Any] | None:
    """What was learned; where that is gone, what was learned one increment earlier."""
    for file in (LEARNER, BEFORE):
        if (folder / file).exists():
            return read_checkpoint(folder / file, "network")
    return None


def read_checkpoint(path: Path, *keys: str) -> dict[str, Any]:
    """A checkpoint that holds at least these keys."""
    state = archive.load(path)
    if not isinstance(state, dict) or not set(keys) <= set(state):
        raise FolderError(f"{path} is no checkpoint of a run; delete it to go on without it")
    return state
