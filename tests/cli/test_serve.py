"""A model over HTTP: photographs are named, classes are taught, versions are followed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Here
from made_classes import photos
from served import Client, model_of_colours, served

from remanence.core import files
from remanence.learning import Wishes, learn
from remanence.model.folder import ModelFolder
from remanence.predictor import Predictor


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return model_of_colours(tmp_path)


@pytest.fixture
def client(model: Path) -> Iterator[Client]:
    with served(model) as found:
        yield found


def one(folder: Path, name: str) -> Path:
    """A photograph that was not learned from."""
    return photos(folder / "one", name, count=1, first=70) / name / "070.png"


def some(folder: Path, name: str, count: int = 6, first: int = 80) -> list[Path]:
    """Photographs to learn from; others than any before, where their features must not be known."""
    return sorted((photos(folder / "some", name, count=count, first=first) / name).iterdir())


def test_a_photograph_is_named_as_the_predictor_names_it(
    client: Client, model: Path, tmp_path: Path
) -> None:
    content = one(tmp_path, "red").read_bytes()
    answer = client.ask("/api/predict?top=1&nearest=3", content)
    assert answer.status == 200
    predictor = Predictor.load(model, own_code=True)
    ((name, probability),) = predictor.predict([content])[0].ranked(1)
    (told,) = answer.told["predictions"]
    assert told == {"class": "red", "probability": pytest.approx(probability)}
    assert name == "red"
    kept = answer.told["nearest"]
    assert [near["class"] for near in kept] == ["red", "red", "green"]
    near = predictor.nearest_kept(predictor.features([content]), 3)[0]
    assert [one["hash"] for one in kept] == [one.hash for one in near]
    shown = client.ask(f"/api/kept/{kept[0]['hash']}")
    assert shown.headers["content-type"] == "image/jpeg"
    assert shown.body == ModelFolder(model).kept_file(kept[0]["hash"]).read_bytes()


def test_what_is_known_is_told_with_its_history(client: Client, model: Path) -> None:
    told = client.ask("/api/classes").told
    described = ModelFolder(model).describe()
    assert (told["model"], told["version"], told["teaches"]) == ("m", 1, True)
    assert [known["class"] for known in told["classes"]] == ["green", "red"]
    for known, expected in zip(told["classes"], described.classes, strict=True):
        assert known["remembered"] == {"1": expected.remembered[1]}
        assert known["photographs"] == 6 and len(known["kept"]) == 2
    (version,) = told["versions"]
    assert (version["all"], version["parent"], version["forgotten"]) == (100, None, None)


def test_a_class_is_taught_while_photographs_are_named(
    client: Client, model: Path, tmp_path: Path
) -> None:
    linger = Path("linger")
    linger.touch()
    answer = client.teach("blue", *some(tmp_path, "blue", first=200), one(tmp_path, "white"))
    assert (answer.status, answer.told["state"]) == (202, "running")
    client.until(lambda now: now["doing"] == "looking at the photographs")
    assert client.named(one(tmp_path, "blue")) in ("red", "green")
    assert b"remanence_teaching 1.0" in client.ask("/metrics").body
    refused = client.teach("grey", *some(tmp_path, "grey"))
    assert refused.status == 409 and "wait for its end, or stop it" in refused.line
    linger.unlink()
    over = client.lesson()
    assert (over["state"], over["version"], over["photographs"]) == ("learned", 2, 7)
    assert over["line"].startswith("blue is learned: ")
    assert over["done"] == over["planned"] == 7
    assert client.named(one(tmp_path, "blue")) == "blue"
    assert client.named(one(tmp_path, "red")) == "red"
    assert client.ask("/health").told["version"] == 2
    assert [one["version"] for one in client.ask("/api/classes").told["versions"]] == [1, 2]
    counted = client.ask("/metrics").body.decode()
    assert 'remanence_lessons_total{outcome="learned"} 1.0' in counted
    assert "remanence_model_version 2.0" in counted
    assert "remanence_predictions_total 3.0" in counted
    assert 'remanence_requests_total{method="POST",path="/api/teach",status="409"} 1.0' in counted


def test_a_version_that_forgets_too_much_is_not_taken_into_use(model: Path, tmp_path: Path) -> None:
    wishes = Wishes(own_code=True, max_drop=0, keep="0")
    with served(model, wishes=wishes) as client:
        client.teach("like red", *some(tmp_path, "red", count=12))
        over = client.lesson()
        assert over["state"] == "refused"
        assert "version 2 is not taken into use: old classes lose" in over["line"]
        told = client.ask("/api/classes").told
        assert told["version"] == 1
        assert "0 are allowed" in told["versions"][1]["refused"]
        assert client.named(one(tmp_path, "red")) == "red"


def test_a_lesson_that_is_killed_or_stopped_leaves_the_model_as_it_was(
    client: Client, model: Path, tmp_path: Path
) -> None:
    new = some(tmp_path, "blue", first=300)
    Path("stumble").write_text("0")
    client.teach("blue", *new)
    over = client.lesson()
    assert over["state"] == "failed" and "was cut (exit code -9)" in over["line"]
    Path("stumble").unlink()
    Path("linger").touch()
    client.teach("blue", *new)
    stopped = client.ask("/api/teaching", method="DELETE").told
    assert (stopped["state"], stopped["name"]) == ("stopped", "blue")
    Path("linger").unlink()
    with files.locked(model):
        client.teach("blue", *new)
        over = client.lesson()
    assert over["state"] == "failed" and "another process is running" in over["line"]
    assert ModelFolder(model).versions == [1]
    client.teach("blue", *new)
    assert client.lesson()["state"] == "learned"
    client.teach("blue", *new)
    over = client.lesson()
    assert (over["state"], over["line"]) == ("learned", "nothing new was in the lesson")


def test_a_lesson_on_what_is_no_lesson_says_why_without_folders(
    client: Client, tmp_path: Path
) -> None:
    same = some(tmp_path, "blue", count=1)[0]
    client.teach("blue", same, same)
    over = client.lesson()
    assert over["state"] == "failed"
    assert over["line"].startswith("class 'blue' has 1 photograph of use")
    assert "remanence-lesson" not in str(over)


def test_a_version_that_somebody_else_makes_is_taken_into_use(
    client: Client, model: Path, tmp_path: Path, here: Here
) -> None:
    learn(model, photos(tmp_path / "b", "blue"), Wishes(own_code=True))
    wait_for_version(client, 2)
    assert client.named(one(tmp_path, "blue")) == "blue"
    assert here("rollback", str(model), "1").code == 0
    wait_for_version(client, 1)
    (model / "current").write_text("9")
    end = time.monotonic() + 20
    while (told := client.ask("/health").told)["trouble"] is None:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert (told["status"], told["version"]) == ("ok", 1)
    assert "0009" in told["trouble"]
    assert client.named(one(tmp_path, "red")) == "red"


def wait_for_version(client: Client, version: int) -> None:
    end = time.monotonic() + 20
    while client.ask("/health").told["version"] != version:
        assert time.monotonic() < end
        time.sleep(0.05)
