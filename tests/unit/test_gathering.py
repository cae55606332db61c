"""What is seen of a run beside its figures: kept images, neighbours, what is taken from logits."""

from __future__ import annotations

import base64
import io
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from remanence.core.progress import Progress
from remanence.data.digits import Digits
from remanence.engine.evaluate import predictions
from remanence.engine.reopen import Reopened, reopen
from remanence.engine.run import Place, run
from remanence.experiment import Experiment
from remanence.gathering import removal as removing
from remanence.gathering.exhibits import gather
from remanence.gathering.neighbours import NEIGHBOURS, nearest, neighbourhoods
from remanence.gathering.pictures import LARGEST_SIDE, as_text, small
from remanence.report.exhibit import Exhibits, Missing, Removal
from remanence.run_folder import read_predictions

SHORT = {
    "method": "lucir",
    "effects": "colliding,momentum",
    "stream": {"sizes": [4, 3, 3]},
    "memory": {"per_class": 3},
    "backbone": {"name": "convnet", "width": 16},
    "training": {"epochs": 2},
    "machine": {"device": "cpu", "precision": "float32", "threads": 1},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs") / "run"
    run(Experiment.of(SHORT), Place(place))
    return place


@pytest.fixture(scope="module")
def reopened(folder: Path) -> Reopened:
    return reopen(folder)


def shown(folder: Path) -> Exhibits:
    return gather(folder, Progress())


def decoded(text: str) -> np.ndarray:
    assert text.startswith("data:image/webp;base64,")
    with Image.open(io.BytesIO(base64.b64decode(text.partition(",")[2]))) as image:
        return np.asarray(image.convert("RGB"))


def test_a_reopened_run_predicts_what_it_predicted(reopened: Reopened, folder: Path) -> None:
    kept = read_predictions(folder, 2)
    assert kept is not None
    tests = reopened.finished[0].test
    for one in reopened.finished[1:]:
        tests = tests.joined(one.test)
    for name, labels in predictions(reopened.learner, tests).items():
        assert (labels.numpy() == kept[name]).all(), name


def test_the_earlier_learner_is_the_one_of_two_increments(reopened: Reopened, folder: Path) -> None:
    earlier = reopened.earlier()
    assert earlier.network.head.classes == 7
    kept = read_predictions(folder, 1)
    assert kept is not None
    tests = reopened.finished[0].test.joined(reopened.finished[1].test)
    assert (predictions(earlier, tests)["cnn"].numpy() == kept["cnn"]).all()


def test_kept_images_are_the_exemplars(reopened: Reopened, folder: Path) -> None:
    kept = shown(folder).kept
    assert not isinstance(kept, Missing)
    assert [(one.name, one.images, one.shown) for one in kept] == [
        (str(digit), 3, 3) for digit in range(10)
    ]
    strip = decoded(kept[4].strip)
    of_class = reopened.learner.exemplars.labels == 4
    pixels = reopened.learner.exemplars.pixels[of_class][:, 0].numpy()
    assert strip.shape == (8, 3 * 8 + 2, 3)
    assert (strip[:, 9:17, 0] == pixels[1]).all()


def test_neighbours_are_those_that_the_effect_trained_with(reopened: Reopened) -> None:
    earlier = reopened.earlier()
    session = earlier.meet(reopened.finished[2])
    (lens,) = earlier.lenses.acting
    lens.begin(session)
    graph = lens.state()["graph"]
    pool = session.pool
    assert session.teacher is not None
    features = pool.outputs(session.teacher, pool.everything[: pool.new_count]).features
    near, _ = nearest(torch.nn.functional.normalize(features), 10)
    assert (near == graph[: pool.new_count]).float().mean() > 0.99


def test_each_row_speaks_for_another_old_class(reopened: Reopened) -> None:
    found = neighbourhoods(reopened)
    assert not isinstance(found, Missing)
    spoken_for = [one.image.speaks_for for one in found]
    assert len(set(spoken_for)) == len(spoken_for) > 1
    assert set(spoken_for) <= {"0", "1", "2", "3", "4", "5", "6"}
    beliefs = [one.image.belief for one in found]
    assert beliefs == sorted(beliefs, reverse=True)
    for one in found:
        assert len(one.neighbours) == NEIGHBOURS
        assert {sight.name for sight in one.sights} <= {"7", "8", "9"}
        alike = [sight.alike for sight in one.neighbours]
        assert alike == sorted(alike, reverse=True)


def test_removal_is_the_difference_of_two_readings(reopened: Reopened) -> None:
    found = removing.removal(reopened)
    assert isinstance(found, Removal)
    tests = torch.cat([one.test.pixels for one in reopened.finished])
    labels = torch.cat([one.test.labels for one in reopened.finished])
    few = torch.cat([torch.nonzero(labels == c).flatten()[: removing.IMAGES] for c in range(10)])
    pool = reopened.learner.pool(reopened.finished[0].test.__class__(tests, labels)[few])
    out = pool.outputs(reopened.learner.network, pool.everything)
    read = reopened.learner.lenses.read(out, reopened.learner.network.head)
    assert found.images == len(few)
    mean = {name: read[name].logits.mean(0).tolist() for name in ("cnn", "cnn+momentum")}
    assert [one.before for one in found.classes] == pytest.approx(mean["cnn"], abs=1e-4)
    assert [one.after for one in found.classes] == pytest.approx(mean["cnn+momentum"], abs=1e-4)
    assert [one.increment for one in found.classes] == [0] * 4 + [1] * 3 + [2] * 3
    alpha = reopened.learner.lenses.numbers()["cnn+momentum.alpha"]
    assert found.alpha == alpha != 0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"effects": ""}, "without the effect"),
        ({"stream": {"sizes": [3]}}, "Only the base is learned"),
        ({"memory": {"per_class": 0}}, "No image is kept"),
    ],
)
def test_what_is_not_there_says_why(changes: dict, reason: str, tmp_path: Path) -> None:
    run(Experiment.of(SHORT, {"training": {"epochs": 1}}, changes), Place(tmp_path))
    found = shown(tmp_path)
    reasons = [one.reason for one in vars(found).values() if isinstance(one, Missing)]
    assert reasons and all(reason in one for one in reasons)


def test_without_a_checkpoint_every_exhibit_says_so(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    shutil.rmtree(copy / "checkpoints")
    for one in vars(shown(copy)).values():
        assert isinstance(one, Missing) and "no checkpoint" in one.reason


def test_other_data_are_not_taken_for_those_of_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = Digits.load

    def other(self: Digits):
        splits = load(self)
        splits.train.pixels[0] = 0
        return splits

    monkeypatch.setattr(Digits, "load", other)
    kept = shown(folder).kept
    assert isinstance(kept, Missing) and "are not those that" in kept.reason


def test_only_the_network_before_is_missing(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    (copy / "checkpoints" / "before.safetensors").unlink()
    found = shown(copy)
    assert isinstance(found.neighbours, Missing) and "before.safetensors" in found.neighbours.reason
    assert not isinstance(found.kept, Missing) and isinstance(found.removal, Removal)


def test_pictures_are_small_and_keep_their_colours() -> None:
    pixels = torch.zeros(3, 200, 100, dtype=torch.uint8)
    pixels[0] = 250
    picture = small(pixels)
    assert picture.shape == (LARGEST_SIDE, LARGEST_SIDE // 2, 3)
    row = decoded(as_text([picture, picture]))
    assert row.shape == (LARGEST_SIDE, LARGEST_SIDE + 1, 3)
    red, green = row[5, 5, :2].astype(int)
    assert red > 230 and green < 20
    assert as_text([picture]) == as_text([picture.copy()])
    assert small(torch.full((1, 8, 8), 7, dtype=torch.uint8)).shape == (8, 8, 3)
