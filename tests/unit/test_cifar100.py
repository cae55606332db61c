"""CIFAR-100 is found in every official packing, and nothing damaged is taken for it."""

import contextlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from made_cifar100 import NAMES, Files, binary, made, packed, python, python_2, written

from remanence.core.choices import choose
from remanence.core.errors import DataError, SettingsError
from remanence.core.settings import decode
from remanence.data.base import Splits
from remanence.data.cifar100 import Cifar100

RECORD = 3074


def load(folder: Path | None = None) -> Splits:
    return Cifar100(folder=None if folder is None else str(folder)).load()


def assert_made(splits: Splits) -> None:
    for split, images in (("train", splits.train), ("test", splits.test)):
        pixels, labels = made(split)
        assert torch.equal(images.pixels, torch.from_numpy(pixels).view(-1, 3, 32, 32))
        assert images.pixels.is_contiguous() and images.pixels.dtype == torch.uint8
        assert images.labels.tolist() == labels.tolist() and images.labels.dtype == torch.int64
    assert splits.class_names == tuple(NAMES)


def refusal(folder: Path | None) -> str:
    with pytest.raises(DataError) as caught:
        load(folder)
    message = str(caught.value)
    assert "\n" not in message and ": " in message
    return message


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The default place, empty: no test looks at the data of this machine."""
    monkeypatch.delenv("REMANENCE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "remanence" / "data"


# Where it is found


@pytest.mark.parametrize("files", [binary(), python()], ids=["binary", "python"])
def test_folder_and_archive(tmp_path: Path, files: Files) -> None:
    name = "cifar-100-binary" if "train.bin" in files else "cifar-100-python"
    written(tmp_path / "a" / name, files)
    packed(tmp_path / "b" / f"{name}.tar.gz", files)
    assert_made(load(tmp_path / "a"))
    assert_made(load(tmp_path / "a" / name))
    assert_made(load(tmp_path / "b"))
    assert_made(load(tmp_path / "b" / f"{name}.tar.gz"))


def test_the_order_of_the_places(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMANENCE_DATA", str(tmp_path / "named"))
    written(cache, binary())
    assert_made(load())
    written(tmp_path / "named", binary() | {"train.bin": b""})
    assert str(tmp_path / "named") in refusal(None)
    written(tmp_path / "chosen", binary())
    assert_made(load(tmp_path / "chosen"))


def test_nothing_anywhere(cache: Path) -> None:
    message = refusal(None)
    assert str(cache) in message and "'remanence download cifar100'" in message


# Python's packing


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("key", [str.encode, str], ids=["bytes", "text"])
def test_pickles_of_python_3(tmp_path: Path, protocol: int, key: Callable[[str], Any]) -> None:
    assert_made(load(written(tmp_path, python(protocol, key))))


@pytest.mark.parametrize("by_column", [False, True])
def test_pickles_of_python_2(tmp_path: Path, by_column: bool) -> None:
    files = python_2(by_column)
    believed = pickle.loads(files["train"], encoding="bytes")
    assert np.array_equal(believed[b"data"], made("train")[0]), "a true example"
    assert_made(load(written(tmp_path, files)))


def test_all_packings_give_the_same(tmp_path: Path) -> None:
    all_files = [binary(), python(), python_2(True)]
    copies = [load(written(tmp_path / str(n), files)) for n, files in enumerate(all_files)]
    assert len({copy.fingerprint for copy in copies}) == 1


class Evil:
    """Makes a folder when it is unpickled by the usual means."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return Path.mkdir, (self.target,)


def test_a_pickle_runs_nothing(tmp_path: Path) -> None:
    files = python(extra=Evil(tmp_path / "made"))
    message = refusal(written(tmp_path / "data", files))
    assert "Path.mkdir" in message or "getattr" in message
    assert str(tmp_path / "data" / "train") in message and not (tmp_path / "made").exists()


# What is damaged


def cut(name: str, kept: Callable[[bytes], int]) -> Callable[[Files], Files]:
    return lambda files: {name: files[name][: kept(files[name])]}


def labelled(label: int) -> Callable[[Files], Files]:
    return lambda files: {"test.bin": b"\0" + bytes([label]) + files["test.bin"][2:]}


@pytest.mark.parametrize(
    ("damage", "file", "reason"),
    [
        (cut("train.bin", lambda c: len(c) - 1), "train.bin", "no multiple of 3074"),
        (cut("test.bin", lambda c: 1), "test.bin", "no multiple of 3074"),
        (cut("train.bin", lambda c: len(c) // 2), "train.bin", "is not whole"),
        (cut("train.bin", lambda c: RECORD), "train.bin", "is not whole"),
        (cut("test.bin", lambda c: 0), "test.bin", "is not whole"),
        (labelled(100), "test.bin", "not in 0..99"),
        (labelled(255), "test.bin", "not in 0..99"),
        (cut("fine_label_names.txt", lambda c: c.index(b"class_99")), "names.txt", "has 99"),
        (lambda files: {"fine_label_names.txt": b"same\n" * 100}, "names.txt", "has 1 "),
        (lambda files: {"fine_label_names.txt": b""}, "names.txt", "has 0"),
        (
            lambda files: {"fine_label_names.txt": b"\n".join(b"\x1b%d" % n for n in range(100))},
            "names.txt",
            "has 0",
        ),
    ],
)
def test_damaged_records(
    tmp_path: Path, damage: Callable[[Files], Files], file: str, reason: str
) -> None:
    files = binary()
    message = refusal(written(tmp_path, files | damage(files)))
    assert file in message and reason in message and "remanence download cifar100" in message


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"fine_labels": [*range(99), 100] * 2}, "not in 0..99"),
        ({"fine_labels": [*range(1, 100), -1] * 2}, "not in 0..99"),
        ({"fine_labels": [*range(99), "99"] * 2}, "not in 0..99"),
        ({"fine_labels": [*range(99), 10**5000] * 2}, "not in 0..99"),
        ({"fine_labels": [*range(99), 0.5] * 2}, "not in 0..99"),
        ({"fine_labels": [*range(99), 98] * 2}, "is not whole"),
        ({"fine_labels": [*range(100)]}, "200 x 3072 pixels for 100 labels"),
        ({"fine_labels": None}, "'fine_labels'"),
        ({"data": np.zeros((200, 3071), np.uint8)}, "200 x 3071 pixels"),
        ({"data": np.zeros((200, 3072), np.int16)}, "not a table of bytes"),
        ({"data": np.full((200, 1), None)}, "not a table of bytes"),
        ({"data": [1, 2, 3]}, "'data'"),
    ],
)
def test_wrong_pickles(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    message = refusal(written(tmp_path, python(**changes)))
    assert str(tmp_path / "train") in message and reason in message


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (pickle.dumps([1]), "no dictionary"),
        (pickle.dumps({}), "'fine_label_names'"),
        (pickle.dumps({"fine_label_names": NAMES[1:]}), "has 99 different"),
        (pickle.dumps({"fine_label_names": [*NAMES[1:], 5]}), "has 99 different"),
        (pickle.dumps({"fine_label_names": NAMES})[:-5], "not a whole pickle"),
    ],
)
def test_wrong_names(tmp_path: Path, content: bytes, reason: str) -> None:
    message = refusal(written(tmp_path, python() | {"meta": content}))
    assert str(tmp_path / "meta") in message and reason in message


def test_a_wrong_archive(tmp_path: Path) -> None:
    message = refusal(packed(tmp_path / "archive", binary() | {"test.bin": b""}))
    assert f"{tmp_path / 'archive'} (cifar-100-binary/test.bin) is not whole" in message


# Anything at all: the whole set or one line


@given(st.data())
@examples(deadline=None, max_examples=40)
def test_cut_files(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    files = data.draw(st.sampled_from([binary(), python(), python_2(False)]))
    name = data.draw(st.sampled_from([name for name in sorted(files) if "names" not in name]))
    length = data.draw(st.integers(0, len(files[name]) - 1))
    folder = written(tmp_path_factory.mktemp("cut"), files | {name: files[name][:length]})
    assert name in refusal(folder)


@given(st.data())
@examples(deadline=None, max_examples=60)
def test_changed_files(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    files = data.draw(st.sampled_from([binary(), python(), python(4), python_2(False)]))
    name = data.draw(st.sampled_from(sorted(files)))
    place = data.draw(st.integers(0, 300) | st.integers(-600, -1))
    start = place % len(files[name])
    noise = data.draw(st.binary(min_size=1, max_size=20))
    content = files[name][:start] + noise + files[name][start + len(noise) :]
    folder = written(tmp_path_factory.mktemp("changed"), files | {name: content})
    with contextlib.suppress(DataError):
        assert len(load(folder).train) == 200


@given(st.data())
@examples(deadline=None, max_examples=60)
def test_random_files(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    files = data.draw(st.sampled_from([binary(), python()]))
    name = data.draw(st.sampled_from(sorted(files)))
    content = data.draw(st.binary(max_size=200))
    assert name in refusal(written(tmp_path_factory.mktemp("random"), files | {name: content}))


# The choice


def test_chosen_by_name() -> None:
    assert choose("data", "cifar100") is Cifar100
    source = decode(Cifar100, {"folder": "somewhere"})
    assert (source.name, source.order, source.base, source.increment) == (
        "cifar100",
        "icarl1993",
        50,
        10,
    )
    with pytest.raises(SettingsError, match="did you mean 'folder'"):
        decode(Cifar100, {"foldr": "somewhere"})
