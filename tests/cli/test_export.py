"""Models and runs to files that others read, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from commands import BRIEF, Here, check_one_line
from made_classes import BACKBONE, photos

from remanence.engine.reopen import reopen
from remanence.run_folder import read_predictions


def test_the_first_reading_of_a_run_is_exported_and_names_every_test_image_alike(
    undisturbed: Path, tmp_path: Path, here: Here
) -> None:
    out = tmp_path / "digits.onnx"
    outcome = here("export", str(undisturbed), str(out), "--json")
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["source"]["reading"] == "cnn+momentum"
    assert told["classes"] == [str(n) for n in range(7)]
    assert told["check"]["real_images"] == 32
    assert told["check"]["largest_difference_of_probabilities"] < 1e-5
    kept = read_predictions(undisturbed, 2)
    assert kept is not None
    run = reopen(undisturbed)
    pixels = np.concatenate([one.test.pixels.numpy() for one in run.finished])
    (logits,) = onnxruntime.InferenceSession(out).run(["logits"], {"pixels": pixels})
    assert (logits.argmax(1) == kept["cnn+momentum"]).all()
    assert (kept["cnn+momentum"] != kept["cnn"]).any(), "else the test would show nothing"


def test_another_reading_is_named(undisturbed: Path, tmp_path: Path, here: Here) -> None:
    out = tmp_path / "x.safetensors"
    outcome = here("export", str(undisturbed), str(out), "--reading", "nme")
    assert outcome.code == 0, outcome.err
    assert "reading nme" in outcome.out
    assert "checked on 32 real and 8 made images" in outcome.out
    line = check_one_line(
        here("export", str(undisturbed), str(tmp_path / "y.onnx"), "--reading", "nmee"), 2
    )
    assert "has no reading 'nmee'; did you mean 'nme'" in line


@pytest.fixture(scope="module")
def podnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A brief run of a method whose head is no matrix."""
    from remanence.engine.run import Place, run
    from remanence.recipe import compose

    words = [word for word in BRIEF if not word.startswith("backbone")]
    chosen = ["method=podnet", "effects=momentum", "stream.sizes=2,1", "training.epochs=1"]
    _, experiment = compose("digits-finetune", [*words, *chosen])
    folder = tmp_path_factory.mktemp("podnet") / "run"
    run(experiment, Place(folder))
    return folder


def test_a_reading_that_is_no_matrix_is_refused(podnet: Path, tmp_path: Path, here: Here) -> None:
    out = tmp_path / "x.onnx"
    line = check_one_line(here("export", str(podnet), str(out)), 2)
    assert "'cnn+momentum' cannot be exported" in line
    assert "choose --reading nme" in line
    assert not out.exists()


@pytest.fixture
def model(tmp_path: Path, here: Here) -> Path:
    words = (*BACKBONE, "--own-code", "--quiet", "--keep", "2")
    folder = photos(tmp_path / "a", "red", "green", "blue")
    assert here("learn", str(tmp_path / "m"), str(folder), *words).code == 0
    return tmp_path / "m"


def test_a_model_is_exported_and_what_is_there_is_left_alone(
    model: Path, tmp_path: Path, here: Here
) -> None:
    out = tmp_path / "colours.safetensors"
    outcome = here("export", str(model), str(out), "--own-code")
    assert outcome.code == 0, outcome.err
    assert "3 classes" in outcome.out
    assert "checked on 6 real and 8 made images" in outcome.out
    before = out.read_bytes()
    line = check_one_line(here("export", str(model), str(out), "--own-code"), 4)
    assert "is there already" in line
    words = ("--own-code", "--force", "--check", str(photos(tmp_path / "t", "red", first=9)))
    outcome = here("export", str(model), str(out), *words, "--at", "1")
    assert "checked on 6 real" in outcome.out
    assert out.read_bytes() == before


WRONG = {
    "code of its own": (("m", "x.safetensors"), "--own-code", 4),
    "a reading of a model": (("m", "x.onnx", "--reading", "cnn"), "is for runs", 2),
    "neither": (("a", "x.onnx"), "is no model", 4),
    "an ending": (("m", "x.pickle"), "end its name in", 2),
    "a version": (("m", "x.onnx", "--at", "9"), "no version 9", 4),
}


@pytest.mark.parametrize(("words", "line", "code"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_exported_is_one_line(
    words: tuple[str, ...], line: str, code: int, model: Path, tmp_path: Path, here: Here
) -> None:
    source, out, *rest = words
    outcome = here("export", str(tmp_path / source), str(tmp_path / out), *rest)
    assert line in check_one_line(outcome, code)
    assert not (tmp_path / out).exists()


def test_a_run_is_not_asked_for_what_models_have(
    undisturbed: Path, tmp_path: Path, here: Here
) -> None:
    outcome = here("export", str(undisturbed), str(tmp_path / "x.onnx"), "--at", "1")
    assert "are for models" in check_one_line(outcome, 2)
