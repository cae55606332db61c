"""The artefact: what is written is read again; what is not ours, or hostile, is refused."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import made_model
import made_photographs
import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional as F

from remanence.core.errors import DataError, FolderError
from remanence.model.folder import ModelFolder
from remanence.photographs.decode import square
from remanence.predictor import Predictor


def test_a_prediction_is_the_softmax_of_one_matrix(tmp_path: Path) -> None:
    predictor = Predictor.load(made_model.model(tmp_path / "m").path)
    photograph = made_photographs.save(tmp_path / "x.jpg", seed=3)
    pixels = torch.from_numpy(square(photograph, made_model.SIDE).copy()).permute(2, 0, 1)[None]
    trunk = made_model.BACKBONE.build(3).eval()
    trunk.load_state_dict(made_model.trunk())
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in ((0.5, 0.4, 0.3), (0.5, 0.6, 0.7)))
    features = trunk((pixels / 255 - mean) / std).features
    known = F.normalize(features.sign() * features.abs().sqrt())
    head = made_model.head(seed=1)
    expected = ((known @ head["weight"].T + head["bias"]) / 0.5).softmax(1)[0]
    (found,) = predictor.predict([photograph])
    assert found.probabilities == pytest.approx(expected.tolist(), abs=1e-5)
    assert found.classes == ("wren", "owl", "été")
    assert found.name == found.classes[int(expected.argmax())]
    assert next(name for name, _ in found.ranked()) == found.name
    assert found.probability == max(found.probabilities)


def test_a_photograph_may_be_a_path_bytes_an_image_or_pixels(tmp_path: Path) -> None:
    predictor = Predictor.load(made_model.model(tmp_path / "m").path)
    path = tmp_path / "x.png"
    Image.fromarray(made_photographs.smooth(seed=5)).save(path)
    with Image.open(path) as image:
        image.load()
    ways = [path, str(path), path.read_bytes(), image, np.asarray(image)]
    rows = [one.probabilities for one in predictor.predict(ways)]
    assert all(row == pytest.approx(rows[0], abs=1e-6) for row in rows)
    assert predictor.predict([]) == []


@pytest.mark.parametrize("wrong", [b"no image", np.zeros((4, 4)), np.zeros(9, np.uint8)])
def test_what_is_no_image_is_one_line(wrong: Any, tmp_path: Path) -> None:
    predictor = Predictor.load(made_model.model(tmp_path / "m").path)
    with pytest.raises(DataError, match="image"):
        predictor.predict([wrong])


def test_the_nearest_kept_photograph_of_itself_is_itself(tmp_path: Path) -> None:
    folder = made_model.model(tmp_path / "m")
    predictor = Predictor.load(folder.path)
    (kept,) = predictor.kept
    features = predictor.features([folder.kept_file(kept.hash)])
    assert predictor.nearest_kept(features, 3) == [[kept]]
    with Image.open(folder.kept_file(kept.hash)) as image:
        assert min(image.size) == 48
        assert not image.getexif()


def test_kept_photographs_are_not_looked_at_where_learning_has_noted_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made_model.model(tmp_path / "m")
    (kept,) = folder.describe().kept
    folder.kept_file(kept.hash).unlink()
    for noted in (torch.ones(1, 8), torch.ones(2, 8), torch.ones(1, 7), "damaged"):
        memory = {"kept_features": noted}
        monkeypatch.setattr(ModelFolder, "memory", lambda self, version, memory=memory: memory)
        predictor = Predictor.load(folder.path)
        if getattr(noted, "shape", None) == (1, 8):
            assert predictor.nearest_kept(torch.ones(1, 8), 1) == [[kept]]
        else:
            with pytest.raises(DataError, match="cannot read"):
                predictor.nearest_kept(torch.ones(1, 8), 1)


def test_versions_are_kept_until_pruned_and_share_what_is_equal(tmp_path: Path) -> None:
    folder = made_model.model(tmp_path / "m", versions=4)
    assert (folder.versions, folder.current) == ([1, 2, 3, 4], 4)
    trunks = {(folder.folder(n) / "trunk.safetensors").stat().st_ino for n in folder.versions}
    assert len(trunks) == 1
    folder.use(2)
    old = Predictor.load(folder.path)
    assert old.description.version == 2
    assert folder.prune(1) == [1, 3]
    assert folder.versions == [2, 4]
    assert len(list((folder.path / "kept").iterdir())) == 1
    with pytest.raises(FolderError, match="no version 3; there are: 2, 4"):
        folder.use(3)


def test_what_a_kill_left_behind_is_removed(tmp_path: Path) -> None:
    folder = made_model.model(tmp_path / "m")
    (folder.path / "versions" / "unfinished").mkdir()
    (folder.path / "versions" / "unfinished" / "model.json").write_text("{")
    assert folder.versions == [1]
    with folder.changing():
        assert not (folder.path / "versions" / "unfinished").exists()


def changed(folder: ModelFolder, **values: Any) -> None:
    path = folder.folder(folder.current) / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


WRONG = {
    "a later format": ({"format": 99}, "later release"),
    "an unknown key": ({"colour": "red"}, "colour"),
    "no class": ({"classes": []}, "classes"),
    "two of one name": (
        {"classes": [{"name": "a", "version": 1, "made": "", "photographs": 1}] * 2},
        "same name",
    ),
    "a class that is a path": (
        {"classes": [{"name": "../a", "version": 1, "made": "", "photographs": 1}]},
        "slashes",
    ),
    "a hash that is a path": (
        {"kept": [{"label": 0, "hash": "../../../../etc/passwd", "name": "x", "bytes": 1}]},
        "hexadecimal",
    ),
    "a label without a class": (
        {"kept": [{"label": 9, "hash": "0" * 32, "name": "x", "bytes": 1}]},
        "no class",
    ),
    "a network that is a module": ({"backbone": {"name": "antigravity"}}, "own-code"),
    "a network that is a path": (
        {"backbone": {"name": "own_module", "path": "antigravity:x"}},
        "own-code",
    ),
    "a network of the wrong shape": (
        {"backbone": {"name": "convnet", "width": 9}},
        r"float32 \(.*\), not",
    ),
    "a network that no memory holds": (
        {"backbone": {"name": "convnet", "width": 10**5}},
        r"takes \d+ bytes of weights, but there are \d+",
    ),
    "a network larger than numbers are": (
        {"backbone": {"name": "convnet", "width": 2**70}},
        "cannot be built",
    ),
    "photographs that no memory holds": (
        {"preprocessing": {"side": 10**6, "mean": [0] * 3, "std": [1] * 3, "centre": 1}},
        "side",
    ),
    "time in a format that had none": ({"format": 1}, "seconds: unknown in format 1"),
    "a side of nothing": (
        {"preprocessing": {"side": 0, "mean": [0] * 3, "std": [1] * 3, "centre": 1}},
        "side",
    ),
    "a temperature of zero": ({"temperature": 0}, "temperature"),
}


@pytest.mark.parametrize(("values", "line"), WRONG.values(), ids=WRONG)
def test_a_description_that_is_not_ours_is_refused(
    values: dict[str, Any], line: str, tmp_path: Path
) -> None:
    folder = made_model.model(tmp_path / "m")
    changed(folder, **values)
    with pytest.raises(FolderError, match=line) as error:
        Predictor.load(folder.path)
    assert "\n" not in str(error.value)


def test_a_model_of_the_first_format_is_migrated_when_it_is_read(tmp_path: Path) -> None:
    folder = made_model.model(tmp_path / "m")
    path = folder.folder(1) / "model.json"
    tree = json.loads(path.read_text())
    del tree["seconds"]
    path.write_text(json.dumps(tree | {"format": 1}))
    assert Predictor.load(folder.path).description == made_model.description(
        kept=folder.describe().kept
    )
    assert (folder.describe().format, folder.describe().seconds) == (2, None)


DAMAGE = {
    "empty": b"",
    "text": b"no tensors at all",
    "a header larger than the file": struct.pack("<Q", 2**40) + b"{}",
    "a pickle": b"\x80\x04cos\nsystem\n(S'true'\ntR.",
}


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("name", ["trunk.safetensors", "head.safetensors", "model.json"])
def test_a_damaged_file_is_refused_in_one_line(name: str, content: bytes, tmp_path: Path) -> None:
    folder = made_model.model(tmp_path / "m")
    (folder.folder(1) / name).write_bytes(content)
    with pytest.raises(FolderError, match="cannot read") as error:
        Predictor.load(folder.path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("pointer", ["", "../../x", "-1", "0x1", "7"])
def test_a_pointer_that_leads_nowhere_is_refused(pointer: str, tmp_path: Path) -> None:
    folder = made_model.model(tmp_path / "m")
    (folder.path / "current").write_text(pointer)
    with pytest.raises(FolderError):
        Predictor.load(folder.path)


def test_no_model_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="remanence learn"):
        Predictor.load(tmp_path)


def test_loading_needs_no_code_that_trains(tmp_path: Path) -> None:
    folder = made_model.model(tmp_path / "m")
    program = (
        "import sys; from remanence.predictor import Predictor; "
        f"Predictor.load({str(folder.path)!r}); "
        "print([m for m in sys.modules if m.startswith(('remanence.methods.', 'remanence.engine',"
        " 'remanence.effects.'))])"
    )
    assert os.popen(f"{os.sys.executable} -c {json.dumps(program)}").read().strip() == "[]"
