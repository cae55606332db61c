"""Files that are read: data sets, archives, records, run folders, models."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import made_cifar100
import made_model
import torch
from damaged import VALUES, changed, damaged, texts
from hypothesis import strategies as st
from properties import Property
from safetensors.torch import save
from test_restricted_pickle import PYTHON_2

from remanence.core import archive, files, restricted_pickle
from remanence.core.tar_members import read_members
from remanence.data.cifar100 import Cifar100
from remanence.engine.diary import decided, last_checkpoint
from remanence.experiment import Experiment
from remanence.metrics import readings, summarise
from remanence.model.folder import ModelFolder
from remanence.predictor import Predictor
from remanence.records import Record, read_records
from remanence.run_folder import (
    described,
    predictions_file,
    read_experiment,
    read_log,
    read_predictions,
)

BINARY, PYTHON = made_cifar100.binary(), made_cifar100.python()
RECORD = json.loads(
    Record(
        increment=1,
        group_sizes=(2, 1),
        tested=(5, 6, 7),
        readings={"cnn": (1, 2, 3), "nme": (5, 6, 7)},
        learned={"cnn.alpha": 0.5},
        kept={"images": 3, "hash": "ab"},
    ).line()
)
FIRST = RECORD | {"increment": 0, "group_sizes": [2], "tested": [5, 6], "readings": {"cnn": [1, 2]}}
TREE = {"network": {"a": torch.arange(6).view(2, 3)}, "finished": 1, "list": [1.5, None, "x"]}
EXPERIMENT = {"recipe": None, "chosen": {}, "resolved": Experiment().resolved().tree()}


def one_of(files: made_cifar100.Files) -> st.SearchStrategy[tuple[str, bytes]]:
    """A file by its name, and its content, damaged."""
    return st.sampled_from(sorted(files)).flatmap(
        lambda name: st.tuples(st.just(name), damaged([files[name]]))
    )


def loads_cifar(files: made_cifar100.Files) -> Any:
    """CIFAR-100 with one file that is damaged."""

    def check(folder: Path, value: tuple[str, bytes]) -> None:
        name, content = value
        (folder / name).write_bytes(content)
        try:
            splits = Cifar100(folder=str(folder)).load()
            assert len(set(splits.class_names)) == 100
            assert splits.train.labels.bincount(minlength=100).unique().numel() == 1
        finally:
            (folder / name).write_bytes(files[name])

    return check


def unpickles(folder: Path, content: bytes) -> None:
    """Nothing but plain values comes out, and nothing is run."""
    restricted_pickle.load(content, "the file")


def unpacks(folder: Path, content: bytes) -> None:
    """Members are read in memory; nothing is put anywhere."""
    archive_file = folder / "a.tar.gz"
    archive_file.write_bytes(content)
    read_members(archive_file, {"cifar-100-binary/train.bin", "../../evil"}, 2**21)
    assert [one.name for one in folder.iterdir()] == ["a.tar.gz"]


def prepare_tar(folder: Path) -> bytes:
    small = {name: content[:500] for name, content in BINARY.items()}
    return made_cifar100.packed(folder / "a.tar.gz", small).read_bytes()


def loads_archive(folder: Path, content: bytes) -> None:
    """A damaged archive is noticed; what is taken is what was saved."""
    (folder / "x").write_bytes(content)
    tree = archive.load(folder / "x")
    assert torch.equal(tree["network"]["a"], TREE["network"]["a"])


def loads_forged(folder: Path, skeleton: str) -> None:
    """An archive of somebody who knows how to make its hash."""
    metadata = {"remanence": json.dumps({"hash": "0" * 32, "tree": skeleton})}
    content = save({"0": torch.arange(4)}, metadata)
    (folder / "x").write_bytes(content.replace(b"0" * 32, archive._hash(content).encode(), 1))
    archive.load(folder / "x")
    archive.load_arrays(folder / "x")


def reads_records(folder: Path, lines: list[str]) -> None:
    """Records that are taken can be summarised."""
    (folder / "records.jsonl").write_text("\n".join(lines), errors="replace")
    records = read_records(folder / "records.jsonl")
    for name in readings(records):
        summarise(records, name)


def reads_run(folder: Path, value: tuple[str, str]) -> None:
    """What a run folder says, read by those who show it and by those who go on in it."""
    name, text = value
    file = folder / name
    whole = file.read_bytes()
    file.write_text(text, errors="replace")
    try:
        Experiment.of(read_experiment(folder)["resolved"])
        decided(folder)
        read_log(folder)
        read_predictions(folder, 0)
        last_checkpoint(folder)
    finally:
        file.write_bytes(whole)


def prepare_run(folder: Path) -> None:
    files.make_folder(folder / "checkpoints")
    files.make_folder(folder / "predictions")
    (folder / "experiment.json").write_text(described(EXPERIMENT))
    (folder / "log.jsonl").write_text('{"time": 1.0, "event": "started"}\n')
    archive.save(predictions_file(folder, 0), {"labels": torch.zeros(3).short(), "record": "{}"})
    archive.save(folder / "checkpoints" / "learner.safetensors", {"network": {}, "finished": 0})


def loads_model(folder: Path, value: tuple[str, bytes]) -> None:
    """A model of a stranger: what is taken predicts, and nothing else is imported or read."""
    name, content = value
    file = folder / "m" / name
    whole = file.read_bytes()
    file.write_bytes(content)
    try:
        predictor = Predictor.load(folder / "m")
        assert len(predictor.predict([folder / "a wren.jpg"])) == 1
    finally:
        file.write_bytes(whole)


def prepare_model(folder: Path) -> None:
    shutil.rmtree(folder / "m", ignore_errors=True)
    made_model.model(folder / "m")


def model_files(folder: Path) -> dict[str, bytes]:
    """Each file of a model by its name."""
    prepare_model(folder)
    found = ModelFolder(folder / "m")
    there = [found.path / "current", *sorted(found.folder(1).iterdir())]
    return {str(file.relative_to(found.path)): file.read_bytes() for file in there}


def properties(scratch: Path) -> list[Property]:
    """Those that need true examples, which are made in a folder for them."""
    model = model_files(scratch)
    description = json.loads(model["versions/0001/model.json"])
    archive.save(scratch / "tree", TREE)
    return [
        Property(
            "CIFAR-100, binary",
            one_of(BINARY),
            loads_cifar(BINARY),
            lambda folder: made_cifar100.written(folder, BINARY),
        ),
        Property(
            "CIFAR-100, python",
            one_of(PYTHON),
            loads_cifar(PYTHON),
            lambda folder: made_cifar100.written(folder, PYTHON),
        ),
        Property("pickles", damaged([PYTHON_2, PYTHON["meta"]]), unpickles),
        Property("archives of data sets", damaged([prepare_tar(scratch)]), unpacks),
        Property("checkpoints", damaged([(scratch / "tree").read_bytes()]), loads_archive),
        Property(
            "checkpoints, forged",
            texts({"a": ["list", 1, ["tensor", "0"]], "b": {"c": ["list"]}}),
            loads_forged,
        ),
        Property(
            "records",
            st.lists(texts(FIRST) | texts(RECORD) | VALUES.map(json.dumps), max_size=2),
            reads_records,
        ),
        Property(
            "run folders",
            st.one_of(
                st.tuples(st.just("experiment.json"), texts(EXPERIMENT)),
                st.tuples(st.just("log.jsonl"), texts({"time": 1.0, "event": "started"})),
                st.tuples(st.just("checkpoints/learner.safetensors"), st.text(max_size=60)),
                st.tuples(st.just("predictions/000.safetensors"), st.text(max_size=60)),
            ),
            reads_run,
            prepare_run,
        ),
        Property(
            "models: tensors and pointer",
            one_of({name: one for name, one in model.items() if not name.endswith("json")}),
            loads_model,
            prepare_model,
        ),
        Property(
            "models: description",
            (texts(description) | changed(description).map(json.dumps)).map(
                lambda text: ("versions/0001/model.json", text.encode(errors="replace"))
            ),
            loads_model,
            prepare_model,
        ),
    ]
