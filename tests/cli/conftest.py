"""A run that nobody disturbed, to compare others with; and the command line called in here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import BRIEF, Here, Outcome

from remanence.cli.main import main
from remanence.engine.run import Place, run
from remanence.recipe import compose


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs and the bases that they share are put below the folder in which a command is given."""
    somewhere = tmp_path / "cwd"
    somewhere.mkdir()
    monkeypatch.chdir(somewhere)
    monkeypatch.setattr(sys, "path", [*sys.path])  # a command adds the folder it is given in


@pytest.fixture
def here(capfd: pytest.CaptureFixture[str]) -> Here:
    """Call the command line in this process, where torch is imported already."""

    def call(*words: str) -> Outcome:
        capfd.readouterr()
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        return Outcome(code, *capfd.readouterr())

    return call


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a brief run of digits-lucir-dde that was never stopped."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    recipe, experiment = compose("digits-lucir-dde", BRIEF)
    run(experiment, Place(folder, recipe=recipe.name))
    return folder
