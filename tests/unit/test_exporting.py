"""One file of a model: it says what the model says, tells what it is, or does not come to be."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import made_model
import made_photographs
import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from made_model import SIDE
from PIL import Image
from safetensors import safe_open
from torch.nn import functional as F

from remanence.core.errors import DataError, FolderError, RemanenceError, SettingsError
from remanence.exporting import onnx_file
from remanence.exporting.of_model import of_model
from remanence.exporting.subject import Subject, spread
from remanence.exporting.target import Check, Target, compared
from remanence.exporting.tensors_file import read_tensors
from remanence.predictor import Predictor


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return Predictor.load(made_model.model(tmp_path_factory.mktemp("m") / "birds.model").path)


@pytest.fixture(scope="module")
def onnx_path(predictor: Predictor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("o") / "birds.onnx"
    assert Target.of(path).write(of_model(predictor)).is_passed
    return path


def made_photos(folder: Path, count: int = 3) -> list[Path]:
    folder.mkdir()
    return [made_photographs.save(folder / f"{n}.jpg", seed=n) for n in range(count)]


@pytest.mark.parametrize("count", [1, 3])
def test_onnxruntime_says_what_the_model_says_of_any_number_of_photographs(
    count: int, predictor: Predictor, onnx_path: Path, tmp_path: Path
) -> None:
    photos = made_photos(tmp_path / "p", count)
    session = onnxruntime.InferenceSession(onnx_path)
    pixels = predictor.pixels(photos).numpy()
    assert pixels.dtype == np.uint8
    logits, probabilities = session.run(None, {"pixels": pixels})
    expected = [one.probabilities for one in predictor.predict(photos)]
    np.testing.assert_allclose(probabilities, expected, atol=1e-5)
    np.testing.assert_allclose(torch.from_numpy(logits).softmax(1), expected, atol=1e-5)


def test_the_metadata_are_enough_to_prepare_a_photograph_without_remanence(
    predictor: Predictor, onnx_path: Path, tmp_path: Path
) -> None:
    (photo,) = made_photos(tmp_path / "p", 1)
    session = onnxruntime.InferenceSession(onnx_path)
    told = session.get_modelmeta().custom_metadata_map
    about = {key: json.loads(value) for key, value in told.items()}
    assert about["classes"] == ["wren", "owl", "été"]
    assert about["source"] == {
        "model": "birds.model",
        "version": 1,
        "made": "2026-01-02",
        "temperature": 0.5,
    }
    seen = about["preprocessing"]
    with Image.open(photo) as image:
        part = seen["centre"] * min(image.size)
        left, top = (image.width - part) / 2, (image.height - part) / 2
        box = (left, top, left + part, top + part)
        size = (seen["side"], seen["side"])
        square = image.resize(size, Image.Resampling.BILINEAR, box=box)
    pixels = np.asarray(square).transpose(2, 0, 1)[None]
    (probabilities,) = session.run(["probabilities"], {"pixels": pixels})
    expected = predictor.predict([photo])[0].probabilities
    np.testing.assert_allclose(probabilities[0], expected, atol=1e-5)


def test_the_file_is_well_formed_and_whole(onnx_path: Path) -> None:
    model = onnx.load(onnx_path)
    onnx.checker.check_model(model, full_check=True)
    assert [one.name for one in onnx_path.parent.iterdir()] == ["birds.onnx"]
    (given,) = model.graph.input
    assert given.type.tensor_type.elem_type == onnx.TensorProto.UINT8
    images, *rest = given.type.tensor_type.shape.dim
    assert images.dim_param
    assert [one.dim_value for one in rest] == [3, SIDE, SIDE]


@pytest.mark.parametrize("name", ["x.onnx", "x.safetensors"])
def test_the_same_model_gives_the_same_bytes(
    name: str, predictor: Predictor, tmp_path: Path
) -> None:
    contents = []
    for _ in range(2):
        Target.of(tmp_path / name, force=True).write(of_model(predictor))
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]


def test_float_pixels_are_taken_on_demand(predictor: Predictor, tmp_path: Path) -> None:
    Target.of(tmp_path / "x.onnx", "float32").write(of_model(predictor))
    session = onnxruntime.InferenceSession(tmp_path / "x.onnx")
    pixels = predictor.pixels(made_photos(tmp_path / "p"))
    (found,) = session.run(["probabilities"], {"pixels": pixels.float().numpy()})
    np.testing.assert_allclose(found, predictor.network(pixels), atol=1e-5)


def test_safetensors_can_be_read_with_nothing_but_torch(
    predictor: Predictor, tmp_path: Path
) -> None:
    path = tmp_path / "birds.safetensors"
    assert Target.of(path).write(of_model(predictor)).is_passed
    pixels = predictor.pixels(made_photos(tmp_path / "p"))
    with safe_open(path, "pt") as file:
        about = json.loads(file.metadata()["about"])
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    trunk = made_model.BACKBONE.build(3).eval()
    trunk.load_state_dict(
        {name.removeprefix("trunk."): w for name, w in weights.items() if name.startswith("trunk.")}
    )
    features = trunk((pixels / 255 - weights["mean"]) / weights["std"]).features
    assert about["network"]["transform"] == "rooted"
    rooted = F.normalize(features.sign() * features.abs().sqrt())
    found = F.linear(rooted, weights["weight"], weights["bias"]).softmax(1)
    torch.testing.assert_close(found, predictor.network(pixels), rtol=1e-4, atol=1e-5)
    network, same = read_tensors(path)
    assert same == about
    torch.testing.assert_close(network(pixels), found, rtol=1e-4, atol=1e-5)


def test_it_is_checked_with_what_is_kept_or_with_a_folder(
    predictor: Predictor, tmp_path: Path
) -> None:
    assert len(of_model(predictor).real) == 1
    made_photos(tmp_path / "p", 5)
    assert len(of_model(predictor, tmp_path / "p").real) == 5
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no photograph"):
        of_model(predictor, tmp_path / "empty")
    assert spread(3) == [0, 1, 2]
    assert (len(spread(1000)), spread(1000)[-1] > 900) == (32, True)


def wrong(subject: Subject, by: float) -> Subject:
    """The same subject, if its network said something else of some images."""

    def eager(pixels: torch.Tensor) -> torch.Tensor:
        logits = subject.eager(pixels).clone()
        logits[-1, 0] += by
        return logits

    return dataclasses.replace(subject, eager=eager)


@pytest.mark.parametrize("by", [0.1, float("nan")])
def test_a_file_that_says_something_else_is_not_left_behind(
    by: float, predictor: Predictor, tmp_path: Path
) -> None:
    path = tmp_path / "x.safetensors"
    with pytest.raises(RemanenceError, match="is not written: its probabilities differ") as error:
        Target.of(path).write(wrong(of_model(predictor), by))
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []
    path.write_text("what was there")
    with pytest.raises(RemanenceError, match="not written"):
        Target.of(path, force=True).write(wrong(of_model(predictor), by))
    assert path.read_text() == "what was there"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_difference_that_probabilities_hide_is_found(predictor: Predictor) -> None:
    subject = of_model(predictor)
    sure = subject.made()

    def answer(pixels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = subject.eager(pixels)
        return logits + 1, logits.softmax(1)

    check = compared(subject, answer)
    assert check.probabilities < 1e-6
    assert not check.is_passed
    assert check.made == len(sure)
    assert Check(0, 8, 1e-5, 1e-5).is_passed


def test_what_is_there_is_replaced_by_force_only(predictor: Predictor, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_text("mine")
    with pytest.raises(FolderError, match="is there already: --force"):
        Target.of(path)
    Target.of(path, force=True).write(of_model(predictor))
    assert read_tensors(path)[1]["classes"] == ["wren", "owl", "été"]


@pytest.mark.parametrize("name", ["x.pt", "x", "x.onnx.txt"])
def test_an_ending_that_is_not_known(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"end its name in \.onnx or \.safetensors"):
        Target.of(tmp_path / name)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="there is no folder"):
        Target.of(tmp_path / "none" / "x.safetensors")


def test_what_onnx_takes_is_named_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_file, "TAKES", ("onnx", "no_such_runtime"))
    with pytest.raises(SettingsError, match=r"takes no_such_runtime: pip .*remanence\[export\]"):
        Target.of(tmp_path / "x.onnx")
    Target.of(tmp_path / "x.safetensors")


def test_weights_that_do_not_fit_into_one_file(
    predictor: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_file, "LARGEST", 100)
    with pytest.raises(SettingsError, match=r"ends in \.safetensors"):
        Target.of(tmp_path / "x.onnx").write(of_model(predictor))


class Whimsical(torch.nn.Module):
    """Decides by what it sees, which no graph can say."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        raise ValueError("not today\nnor tomorrow") if images.sum() > 0 else RuntimeError


def test_a_network_that_torch_cannot_export_is_one_line(
    predictor: Predictor, tmp_path: Path
) -> None:
    subject = of_model(predictor)
    subject.network.trunk = Whimsical()
    with pytest.raises(SettingsError, match="torch cannot export this network") as error:
        Target.of(tmp_path / "x.onnx").write(subject)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []
