"""A crash before or after any write leaves a folder from which the same run goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from short_runs import Case, Cut, Trained, contents

from remanence.core import files
from remanence.engine.run import Place, run

CASE = Case.of("crash", method="lucir", memory={"per_class": 1}, training={"epochs": 1})
WRITES = 10  # the experiment, and of each increment its predictions, the learner, the records
whole = files.write


class Crash:
    """Stands in for `files.write`, and fails at one of its calls."""

    def __init__(self, at: int, is_done_first: bool) -> None:
        self._at, self._is_done_first = at, is_done_first
        self.calls = 0

    def __call__(self, path: Path, content: bytes | str) -> None:
        self.calls += 1
        if self.calls - 1 != self._at:
            whole(path, content)
            return
        if self._is_done_first:
            whole(path, content)
        raise Cut


def test_as_many_writes_as_are_tried_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Crash(-1, False)
    monkeypatch.setattr(files, "write", counted)
    run(CASE.experiment, Place(tmp_path))
    assert counted.calls == WRITES


@pytest.mark.parametrize("is_done_first", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(WRITES))
def test_a_crash_at_any_write_leaves_enough_to_go_on(
    at: int,
    is_done_first: bool,
    trained: Callable[[Case], Trained],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(files, "write", Crash(at, is_done_first))
        with pytest.raises(Cut):
            run(CASE.experiment, Place(tmp_path))
    run(CASE.experiment, Place(tmp_path))
    assert contents(tmp_path) == contents(trained(CASE).folder)
