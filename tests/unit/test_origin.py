"""What a run says of the code and the machine that made it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import torch

from remanence.core import origin
from remanence.engine.run import run
from remanence.experiment import Experiment


def _git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=e"]
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_checkout_is_known_by_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origin, "_CHECKOUT", tmp_path)
    assert origin.commit() is None
    _git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("1")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-qm", "one")
    _git(tmp_path, "tag", "-m", "a tag is no name for it", "v1")
    assert origin.commit() == _git(tmp_path, "rev-parse", "--short=12", "HEAD")
    before = (tmp_path / ".git" / "index").read_bytes()
    os.utime(tmp_path / "file", (1, 1))
    assert not str(origin.commit()).endswith("-dirty")
    assert (tmp_path / ".git" / "index").read_bytes() == before, "git must not write"
    (tmp_path / "file").write_text("2")
    assert str(origin.commit()).endswith("-dirty")


def test_the_log_of_a_run_names_both(tmp_path: Path) -> None:
    tree = {"stream": {"sizes": [2]}, "training": {"epochs": 1}, "memory": {"per_class": 1}}
    run(Experiment.of(tree), tmp_path)
    started = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[0])
    assert started["processor"] == origin.processor(torch.device("cpu"))
    assert re.search(r"\w", started["processor"])
    assert "commit" in started
