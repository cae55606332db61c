"""Whole short runs on photographs that stay files: cut anywhere, damaged, and chosen wrongly."""

import json

import pytest
import torch
from made_photographs import tree

from remanence.core import choices
from remanence.core.errors import DataError, SettingsError
from remanence.core.progress import Progress
from remanence.data.base import Images, Splits
from remanence.data.cifar100 import Cifar100
from remanence.engine.run import Place, run
from remanence.experiment import Experiment

CLASSES = [f"class {number}" for number in range(6)]


class Cut(Exception):
    """As if the process had been killed."""


class Watched(Progress):
    """Notes what is said, and cuts a run when it has taken so many steps."""

    def __init__(self, steps=10**9):
        self.lines, self.left = [], steps

    def said(self, line):
        self.lines.append(line)

    def stepped(self, steps=1):
        self.left -= steps
        if self.left < 0:
            raise Cut


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "data"
    number = tree(folder, {f"train/{name}": 6 for name in CLASSES})
    tree(folder, {f"test/{name}": 2 for name in CLASSES}, number)
    return folder


def experiment(root, *trees, workers=2):
    usual = {
        "data": {"name": "folder", "folder": str(root), "size": 8, "workers": workers},
        "stream": {"base": 2, "increment": 2},
        "method": {"name": "lucir", "finetune_epochs": 1},
        "effects": {"colliding": {"neighbours": 3}, "momentum": {}},
        "backbone": {"name": "convnet", "width": 8},
        "memory": {"per_class": 2},
        "training": {"epochs": 2, "batch": 5},
        "machine": {"device": "cpu", "threads": 1, "precision": "float32"},
    }
    return Experiment.of(usual, *trees)


def contents(folder):
    """What a run has written, but for the log with its times and the settings."""
    other = ("log.jsonl", "experiment.json", "experiment-copy.json")
    files = [file for file in folder.rglob("*") if file.is_file() and file.name not in other]
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(files)}


OFFICIAL = {"colliding": {"neighbours": 3, "source": "fresh", "graph": "epoch"}}


@pytest.mark.parametrize("effects", [{}, OFFICIAL], ids=["bank", "fresh"])
def test_a_run_that_is_cut_ends_as_one_that_was_not(root, tmp_path, effects):
    """And with another number of threads that decode."""
    run(experiment(root, {"effects": effects}), tmp_path / "whole")
    cuts = (3, 4, 9, 14)  # in the base, at its end, in the first session, in the second
    chosen = experiment(root, {"effects": effects})
    for steps in cuts:
        with pytest.raises(Cut):
            run(chosen, Place(tmp_path / "cut", save_every=0), Watched(steps))
    run(chosen, tmp_path / "cut")
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")
    run(experiment(root, {"effects": effects}, workers=5), tmp_path / "threads")
    assert contents(tmp_path / "threads") == contents(tmp_path / "whole")


def test_the_published_mirror_of_red_and_blue_works_on_files(root, tmp_path):
    method = {"name": "lucir", "mirror": "channels", "finetune_epochs": 0}
    records = run(experiment(root, {"method": method}), tmp_path / "run")
    assert "nme" in records[-1].readings


@pytest.mark.parametrize("method", choices.names("methods"))
def test_every_method_learns_from_files_and_goes_on_where_it_was_cut(root, tmp_path, method):
    chosen = experiment(root, {"method": {"name": method}})
    whole = run(chosen, tmp_path / "whole")
    assert len(whole) == 3 and whole[-1].kept["images"] > 0
    with pytest.raises(Cut):
        run(chosen, Place(tmp_path / "cut", save_every=0), Watched(8))
    run(chosen, tmp_path / "cut")
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


def test_damaged_files_do_not_end_a_run_and_are_told_of_once(root, tmp_path):
    (root / "train/class 1/empty.jpg").touch()
    for name in ("train/class 0/00001.jpg", "test/class 3/00043.jpg"):
        (root / name).write_bytes((root / name).read_bytes()[:-60])
    watched = Watched()
    records = run(experiment(root), tmp_path / "run", watched)
    assert len(records) == 3
    left_out, *gray = watched.lines
    assert left_out.startswith("files left out because they cannot be read as images: 1; they are")
    assert [line.split(";")[0] for line in gray] == [
        "files that cannot be decoded and are seen as plain gray: 1"
    ] * 2
    events = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    listed = [one for event in events if event["event"] == "note" for one in event["listed"]]
    assert [one.split(":")[0] for one in listed] == [
        "train/class 1/empty.jpg",
        "train/class 0/00001.jpg",
        "test/class 3/00043.jpg",
    ]


def test_files_that_go_away_end_a_run_in_one_line(root, tmp_path, monkeypatch):
    chosen = experiment(root)
    splits = chosen.data.load()
    (root / "train/class 0/00001.jpg").unlink()
    monkeypatch.setattr(type(chosen.data), "load", lambda data: splits)
    with pytest.raises(DataError, match=r"cannot read .*00001\.jpg: No such file"):
        run(chosen, tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("digits", "is for images of 1 channels, but these have 3"),
        ("cifar_icarl", "is for images in memory, whose mean it subtracts, but these are files"),
    ],
)
def test_an_augmentation_that_does_not_fit_files_is_refused(root, tmp_path, name, line):
    with pytest.raises(SettingsError, match=f"training.augmentation: {name} {line}"):
        run(experiment(root, {"training": {"augmentation": name}}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_crops_of_photographs_are_refused_for_images_in_memory(monkeypatch, tmp_path):
    tiny = torch.zeros((200, 3, 8, 8), dtype=torch.uint8)
    images = Images(tiny, torch.arange(200) % 100)
    splits = Splits(images, images, tuple(map(str, range(100))))
    monkeypatch.setattr(Cifar100, "load", lambda data: splits)
    chosen = Experiment.of({"data": "cifar100", "training": {"augmentation": "imnet_lucir"}})
    with pytest.raises(SettingsError, match="decoded as random crops, but these are in memory"):
        run(chosen, tmp_path / "run")
