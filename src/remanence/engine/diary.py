"""All that a run writes: the experiment as chosen, records, log, checkpoints, predictions.

    experiment.json              as chosen and as resolved, and the version that ran it
    records.jsonl                one line for each increment
    log.jsonl                    what happened when; the only file with times in it
    predictions/003.safetensors  the class every reading gave each test image
    kept/003.jsonl               the exemplars: a line each with class, source, hash and bytes
    checkpoints/learner...       all that was learned up to the last finished increment
    checkpoints/before...        the same one increment earlier, for those who look back
    checkpoints/session...       where the current increment stands

The learner's checkpoint is the truth: it holds the records too, and the other files are written
from it, so that a crash between two writes leaves nothing that contradicts it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from torch import Tensor

from remanence.core import archive, files, ranks
from remanence.core.errors import FolderError
from remanence.core.settings import differences
from remanence.engine.learner import Learner
from remanence.experiment import Experiment
from remanence.records import Record, as_text
from remanence.run_folder import read_experiment

LEARNER = Path("checkpoints", "learner.safetensors")
BEFORE = Path("checkpoints", "before.safetensors")
SESSION = Path("checkpoints", "session.safetensors")
DECIDED = ("precision", "kernels")


class Diary:
    """The run folder. Opening it on another experiment's folder is refused."""

    def __init__(
        self, folder: Path, chosen: Experiment, resolved: Experiment, recipe: str | None = None
    ) -> None:
        self.folder = folder
        self.records: list[Record] = []
        self._learner_file = folder / LEARNER
        self._before_file = folder / BEFORE
        self._session_file = folder / SESSION
        self._open(chosen, resolved, recipe)

    def _open(self, chosen: Experiment, resolved: Experiment, recipe: str | None) -> None:
        files.make_folder(self.folder / "checkpoints")
        files.make_folder(self.folder / "predictions")
        files.make_folder(self.folder / "kept")
        self._claim(chosen, resolved, recipe)
        ranks.wait()

    def _claim(self, chosen: Experiment, resolved: Experiment, recipe: str | None) -> None:
        path, tree = self.folder / "experiment.json", resolved.tree()
        if path.exists():
            other = _resolved(self.folder)
            found = [f"{key} {old!r} -> {new!r}" for key, old, new in differences(other, tree)]
            if found:
                raise FolderError(
                    f"{self.folder} holds another experiment ({'; '.join(found)}); "
                    "choose another folder with --out, or delete this one"
                )
            return
        content = {
            "remanence": version("remanence"),
            "recipe": recipe,
            "chosen": chosen.tree(),
            "resolved": tree,
        }
        files.write(path, json.dumps(content, indent=2) + "\n")

    def resume(self, learner: Learner) -> int:
        """Load what was learned; the number of increments that are finished."""
        if not self._learner_file.exists():
            return 0
        state = read_checkpoint(self._learner_file, "records", "network")
        learner.load(state)
        self.records = [Record.from_line(line) for line in state["records"]]
        self._tidy()
        return len(self.records)

    def _tidy(self) -> None:
        """Bring what is written from the checkpoint up to it."""
        self._write_records()
        if self.saved_session(len(self.records)) is None:  # of an increment that was closed since
            self._session_file.unlink(missing_ok=True)

    def saved_session(self, increment: int) -> dict[str, Any] | None:
        """Where the session of this increment stood when it was cut, if it was."""
        if not self._session_file.exists():
            return None
        state = read_checkpoint(self._session_file, "increment", "network")
        return state if state["increment"] == increment else None

    def save_session(self, state: Mapping[str, Any]) -> None:
        """Remember where the current session stands."""
        archive.save(self._session_file, dict(state))

    def close_increment(
        self, learner: Learner, record: Record, predictions: dict[str, Tensor]
    ) -> None:
        """The increment is learned: write it down, and forget where its session stood."""
        named = {name: labels.short() for name, labels in predictions.items()}
        archive.save(self.folder / "predictions" / f"{record.increment:03}.safetensors", named)
        files.write(self.folder / "kept" / f"{record.increment:03}.jsonl", _ledger(learner))
        self.records.append(record)
        if self._learner_file.exists():
            files.write(self._before_file, self._learner_file.read_bytes())
        lines = [one.line() for one in self.records]
        archive.save(self._learner_file, learner.state() | {"records": lines})
        self._write_records()
        self._session_file.unlink(missing_ok=True)
        ranks.wait()

    def log(self, event: str, **facts: Any) -> None:
        """Add a line to the log."""
        line = {"time": round(time.time(), 2), "event": event, **facts}
        try:
            with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise files.cannot_write(self.folder / "log.jsonl", error) from None

    def _write_records(self) -> None:
        files.write(self.folder / "records.jsonl", as_text(self.records))


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

    def _open(self, chosen: Experiment, resolved: Experiment, recipe: str | None) -> None:
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


def decided(folder: Path) -> dict[str, Any]:
    """What was left to the machine and decided by an earlier run in this folder, if any was."""
    if not (folder / "experiment.json").exists():
        return {}
    machine = _resolved(folder)["machine"]
    return {name: machine[name] for name in DECIDED if name in machine}


def _resolved(folder: Path) -> dict[str, Any]:
    """The experiment of an earlier run; without a word on kernels and ranks these were plain."""
    resolved: dict[str, Any] = read_experiment(folder)["resolved"]
    return resolved | {"machine": {"kernels": "plain", "ranks": 1} | resolved.get("machine", {})}


def read_checkpoint(path: Path, *keys: str) -> dict[str, Any]:
    """A checkpoint that holds at least these keys."""
    state = archive.load(path)
    if not isinstance(state, dict) or not set(keys) <= set(state):
        raise FolderError(f"{path} is no checkpoint of a run; delete it to go on without it")
    return state
