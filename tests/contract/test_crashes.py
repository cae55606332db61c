"""A crash before or after any write leaves a folder from which the same run goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from short_runs import Case, Cut, Trained, contents

from remanence.core import files
from remanence.engine.run import Place, run

CASE = Case.of("crash", method="lucir", memory={"per_class": 1}, training={"epochs": 1})
OF_EACH_INCREMENT = ("session.safetensors", "learner.safetensors", "records.jsonl")
PREDICTIONS = tuple(f"{increment:03}.safetensors" for increment in range(3))
WRITES = [
    ("experiment.json", 0),
    *((name, 0) for name in PREDICTIONS),
    *((name, time) for name in OF_EACH_INCREMENT for time in range(3)),
]


class Crash:
    """Stands in for a way to write, and fails when a file of this name is written once again."""

    def __init__(self, write: Callable[..., None], name: str, time: int, is_written: bool) -> None:
        self._write = write
        self._name, self._time, self._is_written = name, time, is_written
        self._times = 0

    def __call__(self, path: Path, content: bytes | str) -> None:
        fails = path.name == self._name and self._times == self._time
        self._times += path.name == self._name
        if self._is_written or not fails:
            self._write(path, content)
        if fails:
            raise Cut


@pytest.mark.parametrize("is_written", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("name", "time"), WRITES)
def test_a_crash_at_any_write_leaves_enough_to_go_on(
    name: str,
    time: int,
    is_written: bool,
    trained: Callable[[Case], Trained],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        for way in ("write", "append"):
            patch.setattr(files, way, Crash(getattr(files, way), name, time, is_written))
        with pytest.raises(Cut):
            run(CASE.experiment, Place(tmp_path, save_every=0))
    run(CASE.experiment, Place(tmp_path))
    assert contents(tmp_path) == contents(trained(CASE).folder)


def test_half_a_record_is_mended(trained: Callable[[Case], Trained], tmp_path: Path) -> None:
    """What is appended may be cut by a disk that is full, or by a power cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "write", Crash(files.write, "learner.safetensors", 2, True))
        with pytest.raises(Cut):
            run(CASE.experiment, Place(tmp_path, save_every=0))
    records = tmp_path / "records.jsonl"
    records.write_bytes(records.read_bytes()[:-30])
    run(CASE.experiment, Place(tmp_path))
    assert contents(tmp_path) == contents(trained(CASE).folder)
