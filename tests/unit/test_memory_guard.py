"""What is over is out of reach but for what was kept, and a ledger says what that is."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import torch
from made_photographs import save

from remanence.core.errors import RemanenceError
from remanence.data.digits import Digits
from remanence.data.folder import Folder
from remanence.engine.run import run
from remanence.experiment import Experiment
from remanence.images import Images
from remanence.loader import Pool
from remanence.methods.finetune import Finetune
from remanence.session import Session
from remanence.stream import make_stream

BRIEF = {
    "stream": {"sizes": [4, 3, 3]},
    "memory": {"per_class": 3},
    "training": {"epochs": 1},
    "backbone": {"name": "convnet", "width": 8},
    "machine": {"device": "cpu", "precision": "float32", "threads": 1},
}


@pytest.fixture
def hoarded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Pool, torch.Tensor]]:
    """What a method that holds on to everything has after a run: pools, and pixels themselves."""
    hoard: list[tuple[Pool, torch.Tensor]] = []

    def remember(self: Finetune, session: Session) -> Images:
        hoard.append((session.pool, session.pool.images.pixels))
        return super(Finetune, self).remember(session)

    monkeypatch.setattr(Finetune, "remember", remember)
    run(Experiment.of(BRIEF), tmp_path / "run")
    return hoard


def test_a_method_that_looks_again_gets_an_error(hoarded: list[tuple[Pool, torch.Tensor]]) -> None:
    assert len(hoarded) == 3
    for pool, pixels in hoarded:
        places = pool.everything[:2]
        for look in (
            lambda pool=pool: pool.images.pixels,
            lambda pool=pool, places=places: pool.images[places],
            lambda pool=pool, places=places: pool.test_view(places),
        ):
            with pytest.raises(RemanenceError, match="increment that is over cannot be read"):
                look()
        assert not pixels.any(), "what was held on to is empty"


def test_the_ledger_names_every_exemplar(tmp_path: Path) -> None:
    experiment = Experiment.of(BRIEF).resolved()
    run(experiment, tmp_path)
    train = make_stream(Digits().load(), experiment.stream).increments[0].train
    whole = Digits().load().train.pixels
    for number, classes in enumerate((4, 7, 10)):
        lines = (tmp_path / "kept" / f"{number:03}.jsonl").read_text().splitlines()
        kept = [json.loads(line) for line in lines]
        assert [one["class"] for one in kept] == sorted(list(range(classes)) * 3)
        for one in kept:
            place = int(one["source"].removeprefix("training image "))
            assert one["bytes"] == whole[place].nbytes == 64
            digest = hashlib.blake2b(whole[place].numpy().tobytes(), digest_size=16)
            assert one["hash"] == digest.hexdigest()
    assert set(train.places.tolist()) >= {
        int(one["source"].rpartition(" ")[2]) for one in kept if one["class"] < 4
    }


def test_files_of_an_increment_that_is_over_are_refused(tmp_path: Path) -> None:
    for number in range(12):
        save(tmp_path / "data" / "train" / "ab"[number % 2] / f"{number}.png", number, (9, 9))
    data = Folder(folder=str(tmp_path / "data"), size=8, workers=1)
    train = data.load().train
    assert isinstance(train, Images) and len(train) > 4
    kept = train[torch.tensor([0, 3])]
    copy = train[torch.arange(len(train))]
    train.close(kept)
    with pytest.raises(RemanenceError, match="cannot be read"):
        next(iter(train.seen([torch.tensor([0])])))  # type: ignore[attr-defined]
    with pytest.raises(RemanenceError, match="was not kept"):
        _ = copy.pixels
    assert kept.pixels.shape == (2, 3, 8, 8)
    assert [one.source.split("/")[0] for one in kept.sources()] == ["train", "train"]
