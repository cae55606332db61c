"""The scikit-learn face: images as programs have them, any labels, to disk and back."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_colours import COLOURS, Coloured, coloured
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import remanence
from remanence.core.errors import FolderError, SettingsError
from remanence.estimator import ImageClassifier
from remanence.learning import Wishes, learn
from remanence.model.folder import ModelFolder

NETWORK = {"backbone": "made_colours:Colours", "side": 8}


def fitted(sample: Coloured, **chosen: Any) -> ImageClassifier:
    return ImageClassifier(**NETWORK, **chosen).fit(*sample)


def test_old_classes_are_known_without_their_images() -> None:
    everything, new = coloured("red", "green", "blue"), coloured("blue")
    one = fitted(coloured("red", "green")).add_classes(*new)
    assert one.classes_.tolist() == ["blue", "green", "red"]
    assert one.score(*coloured("red", "green", "blue", first=50)) == 1
    at_once = fitted(everything)
    images = coloured("red", "green", "blue", first=70).images
    assert one.predict_proba(images) == pytest.approx(at_once.predict_proba(images), abs=1e-5)


def test_more_images_of_a_known_class_change_it_alone_and_fit_forgets_all() -> None:
    one = fitted(coloured("red", "green"))
    one.add_classes(*coloured("red", first=20))
    assert one.classes_.tolist() == ["green", "red"]
    assert one.learned_.pupil.knowledge.sums.counts.sum() < 18
    one.fit(*coloured("blue", "green"))
    assert one.classes_.tolist() == ["blue", "green"]


WAYS = {
    "grey": lambda x: x[..., 0],
    "flat": lambda x: x.reshape(len(x), -1),
    "flat and grey": lambda x: x[..., 0].reshape(len(x), -1),
    "fractions": lambda x: x / 255,
    "a list of arrays": list,
    "nested lists": lambda x: x.reshape(len(x), -1).tolist(),
    "Pillow images": lambda x: [Image.fromarray(one) for one in x],
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_images_come_in_many_forms(way: Any) -> None:
    known, asked = coloured("red", "white"), coloured("red", "white", first=40)
    one = ImageClassifier(**NETWORK).fit(way(known.images), known.labels)
    assert one.score(way(asked.images), asked.labels) == 1


def test_paths_and_their_bytes_say_the_same_as_arrays(tmp_path: Path) -> None:
    known, asked = coloured("red", "blue"), coloured("red", "blue", first=40)
    paths = []
    for number, pixels in enumerate([*known.images, *asked.images]):
        paths.append(tmp_path / f"{number}.png")
        Image.fromarray(pixels).save(paths[-1])
    of_paths = ImageClassifier(**NETWORK, held_out=0.5).fit(
        paths[: len(known.images)], known.labels
    )
    rest = paths[len(known.images) :]
    said = of_paths.predict_proba(rest)
    assert of_paths.predict_proba([one.read_bytes() for one in rest]) == pytest.approx(said)
    assert of_paths.predict_proba(np.array([str(one) for one in rest])) == pytest.approx(said)
    assert of_paths.predict_proba(asked.images) == pytest.approx(said)


def test_rows_are_folded_as_they_are_told() -> None:
    known = coloured("red", "white", side=(6, 10))
    rows = known.images[..., 0].reshape(len(known.images), -1)
    one = ImageClassifier(**NETWORK, image_shape=(6, 10)).fit(rows, known.labels)
    whole = ImageClassifier(**NETWORK).fit(known.images[..., 0], known.labels)
    assert one.predict_proba(rows) == pytest.approx(whole.predict_proba(known.images[..., 0]))
    with pytest.raises(ValueError, match=r"image_shape=\(6, 9\) does not fit rows of 60"):
        ImageClassifier(**NETWORK, image_shape=(6, 9)).fit(rows, known.labels)


LABELS = {
    "numbers": [7, -3],
    "fractions": [False, True],
    "tuples": [("b", 2), ("a", 1)],
    "dates": [datetime.date(2026, 1, 2), datetime.date(2025, 1, 2)],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_are_whatever_can_be_sorted(labels: list[Any]) -> None:
    images, named = coloured("red", "blue")
    meant = dict(zip(("red", "blue"), labels, strict=True))
    one = ImageClassifier(**NETWORK).fit(images, [meant[name] for name in named])
    assert one.classes_.tolist() == sorted(labels)
    asked, names = coloured("red", "blue", first=30)
    assert one.predict(asked).tolist() == [meant[name] for name in names]


def test_it_is_a_model_on_disk_and_each_save_a_version(tmp_path: Path) -> None:
    images, names = coloured("red", "green")
    numbers = np.array([sorted(COLOURS).index(name) for name in names])
    one = ImageClassifier(**NETWORK).fit(images, numbers)
    one.save(tmp_path / "m")
    again = ImageClassifier.load(tmp_path / "m", own_code=True)
    assert again.get_params()["backbone"] == "made_colours:Colours"
    new = coloured("blue")
    again.add_classes(new.images, np.array([0] * len(new.images)))
    again.save(tmp_path / "m")
    folder = ModelFolder(tmp_path / "m")
    assert folder.versions == [1, 2] and folder.describe().parent == 1
    described = folder.describe()
    assert described.names == ("1", "4", "0")
    assert [one.photographs for one in described.classes] == [6, 6, 6]
    assert described.measured.forgotten == 0
    third = ImageClassifier.load(tmp_path / "m", own_code=True)
    asked = coloured("red", "green", "blue", first=30).images
    assert third.predict_proba(asked) == pytest.approx(again.predict_proba(asked))
    assert third.classes_.tolist() == [0, 1, 4]
    third.save(tmp_path / "elsewhere")
    assert ModelFolder(tmp_path / "elsewhere").describe().classes[0].photographs == 6
    predictor = remanence.load(tmp_path / "elsewhere", own_code=True)
    said = [one.name for one in predictor.predict(list(asked))]
    assert said == [str(label) for label in third.predict(asked)]


def test_a_model_of_the_command_line_goes_on_in_python_and_back(tmp_path: Path) -> None:
    for name in ("red", "green", "blue"):
        for number, pixels in enumerate(coloured(name).images):
            (tmp_path / name[:1] / name).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(tmp_path / name[:1] / name / f"{number}.png")
    (tmp_path / "r" / "green").symlink_to(tmp_path / "g" / "green")
    chosen = Wishes(backbone=str(NETWORK["backbone"]), side=8, keep="2", own_code=True)
    learn(tmp_path / "m", tmp_path / "r", chosen)
    one = ImageClassifier.load(tmp_path / "m", own_code=True)
    files = sorted((tmp_path / "b" / "blue").iterdir())
    one.add_classes(files, ["blue"] * len(files)).save(tmp_path / "m")
    described = ModelFolder(tmp_path / "m").describe()
    assert (described.version, described.names) == (2, ("green", "red", "blue"))
    assert len(described.kept) == 4
    assert learn(tmp_path / "m", tmp_path / "b", chosen).version == 2  # it has seen these
    one.save(tmp_path / "copy")
    assert len(list((tmp_path / "copy" / "kept").iterdir())) == 4


def test_what_cannot_be_saved_says_why(tmp_path: Path) -> None:
    images, names = coloured("red", "green")
    fitted(coloured("red", "green")).save(tmp_path / "m")
    with pytest.raises(FolderError, match="another model"):
        fitted(coloured("red", "blue")).save(tmp_path / "m")
    tuples = ImageClassifier(**NETWORK).fit(images, [(name,) for name in names])
    with pytest.raises(SettingsError, match="use text or a number"):
        tuples.save(tmp_path / "t")
    slashes = ImageClassifier(**NETWORK).fit(images, [f"../{name}" for name in names])
    with pytest.raises(SettingsError, match="slashes"):
        slashes.save(tmp_path / "s")
    assert not (tmp_path / "s" / "current").exists()
    one = ImageClassifier.load(tmp_path / "m", own_code=True)
    for name in ("blue", "white"):
        other = ImageClassifier.load(tmp_path / "m", own_code=True)
        if name == "blue":
            other.add_classes(*coloured(name)).save(tmp_path / "m")
    with pytest.raises(FolderError, match="at version 2 by now"):
        one.add_classes(*coloured("grey")).save(tmp_path / "m")


def test_it_works_where_scikit_learn_puts_it() -> None:
    known = coloured("red", "green", "blue", count=8)
    rows = known.images.reshape(len(known.images), -1)
    pipe = make_pipeline(FunctionTransformer(), ImageClassifier(**NETWORK))
    assert cross_val_score(pipe, rows, known.labels, cv=2).tolist() == [1, 1]
    search = GridSearchCV(ImageClassifier(**NETWORK), {"shrinkage": [0.1, 0.9]}, cv=2)
    assert search.fit(known.images, known.labels).best_score_ == 1


def test_a_network_that_is_not_pretrained_learns_from_the_images_of_fit() -> None:
    images, labels = load_digits(return_X_y=True)
    few = np.flatnonzero(labels < 4)[:300]
    one = ImageClassifier(backbone="convnet", side=16, epochs=6)
    one.fit(images[few], labels[few])
    later = np.flatnonzero(labels < 4)[400:]
    assert one.score(images[later], labels[later]) > 0.8
    with pytest.raises(ValueError, match="one class"):
        ImageClassifier(backbone="convnet", side=16).fit(images[:3], [1, 1, 1])


@pytest.mark.parametrize("wrong", [np.zeros((4, 2, 2, 5), np.uint8), np.zeros((4, 2, 2, 3, 1))])
def test_what_is_no_image_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="holds no images"):
        ImageClassifier(**NETWORK).fit(wrong, [0, 1, 0, 1])
