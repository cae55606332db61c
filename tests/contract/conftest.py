"""Each short run is made once and shown to every test that wants to look at it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from short_runs import Case, Trained, watched_run


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], Trained]:
    """The finished run of a case."""
    finished: dict[str, Trained] = {}

    def of(case: Case) -> Trained:
        if case.chosen not in finished:
            folder = tmp_path_factory.mktemp("run")
            finished[case.chosen] = watched_run(case.experiment, folder)
        return finished[case.chosen]

    return of
