"""Class folders of one's own: layouts, a split that stays, and one line for all that is wrong."""

import json

import pytest
from made_photographs import save, tree

from remanence.core.errors import DataError
from remanence.data.folder import Folder


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


def load(root, **chosen):
    return Folder(folder=str(root), size=8, workers=2, **chosen).load()


def names_of(images):
    return list(images.album.names[images.places.numpy()])


def test_train_and_test_folders_are_taken_as_they_are(root):
    tree(root, {"train/ворона": 3, "train/Ara": 2, "test/ворона": 1, "test/Ara": 2})
    save(root / "train/Ara/deeper/x.PNG", 50)
    save(root / "train/Ara/.hidden.jpg", 51)
    (root / "train/Ara/notes.txt").write_text("no image")
    (root / "train/.git").mkdir()
    splits = load(root)
    assert splits.class_names == ("Ara", "ворона")
    assert splits.train.labels.tolist() == [0] * 3 + [1] * 3
    assert splits.test.labels.tolist() == [0] * 2 + [1]
    assert names_of(splits.train)[:3] == [
        "train/Ara/00003.jpg",
        "train/Ara/00004.jpg",
        "train/Ara/deeper/x.PNG",
    ]
    assert names_of(splits.test)[2:] == ["test/ворона/00005.jpg"]
    assert splits.notes == {} and splits.train.shape == (3, 8, 8)


def test_val_does_for_test(root):
    tree(root, {"train/a": 1, "val/a": 2})
    assert len(load(root).test) == 2


@pytest.mark.parametrize("below", ["", "train/"])
def test_without_a_test_folder_a_share_of_each_class_is_tested_on(root, below):
    tree(root, {f"{below}a": 40, f"{below}b": 60, f"{below}c": 2})
    splits = load(root, test_share=0.3)
    assert len(splits.train) + len(splits.test) == 102
    assert not set(names_of(splits.train)) & set(names_of(splits.test))
    per_class = splits.test.labels.bincount().tolist()
    assert 4 <= per_class[0] <= 20 and 8 <= per_class[1] <= 28 and per_class[2] == 1
    assert names_of(load(root, test_share=0.3).test) == names_of(splits.test)


def test_a_photograph_stays_on_its_side_whatever_comes_and_however_it_is_called(root, tmp_path):
    number = tree(root, {"a": 12, "b": 2})
    tested = set(names_of(load(root).test))
    tree(root, {"a": 10, "b": 6, "c": 3}, number)
    grown = load(root)
    assert {name for name in names_of(grown.test) if int(name[2:7]) < number} == tested
    before = {name for name in names_of(grown.test) if name.startswith("a/")}
    (root / "a").rename(root / "renamed")
    after = {name for name in names_of(load(root).test) if name.startswith("renamed/")}
    assert {name.split("/")[1] for name in after} == {name.split("/")[1] for name in before}


@pytest.mark.parametrize("damage", ["", "nonsense", "[]", '{"tested": 3}'])
def test_the_split_is_remembered_and_comes_again_where_that_is_lost(root, tmp_path, damage):
    tree(root, {"a": 12, "b": 2})
    tested = names_of(load(root).test)
    (memory,) = (tmp_path / "cache").rglob("*.json")
    assert sum(json.loads(memory.read_text())["tested"].values()) == len(tested)
    memory.write_text(damage)
    assert names_of(load(root).test) == tested


def test_a_cache_that_cannot_be_written_is_done_without(root, tmp_path, monkeypatch):
    tree(root, {"a": 12})
    (tmp_path / "file").touch()
    tested = names_of(load(root).test)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    assert names_of(load(root).test) == tested


def test_what_is_no_image_is_left_out_and_listed(root):
    tree(root, {"train/a": 2, "test/a": 1})
    (root / "train/a/empty.jpg").touch()
    (root / "train/a/text.jpg").write_text("no image")
    (root / "train/a/link.jpg").symlink_to(root / "nowhere.jpg")
    (root / "test/a/other.png").write_bytes(b"\x89PNG")
    splits = load(root)
    assert (len(splits.train), len(splits.test)) == (2, 1)
    ((line, listed),) = splits.notes.items()
    assert line == "files left out because they cannot be read as images: 4"
    assert [one.split(":")[0] for one in listed] == [
        "train/a/empty.jpg",
        "train/a/link.jpg",
        "train/a/text.jpg",
        "test/a/other.png",
    ]


@pytest.mark.parametrize("layout", ["train/{}", "{}"])
def test_the_same_bytes_twice_are_told_of_by_name(root, layout):
    tree(root, {layout.format("a"): 3, layout.format("b"): 3})
    if layout == "train/{}":
        tree(root, {"test/a": 1, "test/b": 1}, 20)
    one, other = (root / layout.format(name) for name in "ab")
    (other / "copy.jpg").write_bytes((one / "00001.jpg").read_bytes())
    notes = load(root).notes
    assert list(notes) == ["photographs that are there more than once: 1"]
    expected = f"{layout.format('a')}/00001.jpg = {layout.format('b')}/copy.jpg"
    assert list(notes.values()) == [[expected]]


def test_copies_within_a_class_are_on_one_side(root):
    tree(root, {"a": 6})
    for file in list((root / "a").iterdir()):
        (root / "a" / f"copy-{file.name}").write_bytes(file.read_bytes())
    splits = load(root, test_share=0.5)
    for images in (splits.train, splits.test):
        assert len({name[-9:] for name in names_of(images)}) * 2 == len(images)


def test_the_fingerprint_is_that_of_names_sizes_and_labels(root, tmp_path):
    for folder in (root, tmp_path / "same"):
        tree(folder, {"train/a": 2, "train/b": 1, "test/a": 1, "test/b": 1})
    first = load(root).fingerprint
    assert load(tmp_path / "same").fingerprint == first
    (root / "train/a/00000.jpg").rename(root / "train/a/x.jpg")
    assert load(root).fingerprint != first


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({}, "has no class folders"),
        ({"test/a": 1}, "has a folder test, but none called train"),
        ({"train/a": 1, "test/a": 1, "test/b": 1}, r"test/b is a class that .*train has not"),
        ({"train/a": 1, "train/b": 1, "test/a": 1}, "class 'b' .* has no test image"),
        ({"train/a": 1, "test/a": 1, "test/b/": 0}, r"test/b is a class that"),
        ({"a": 1, "b": 4}, "class 'a' has 1 photograph that can be read; .* takes two"),
        ({"a\tb": 4}, r"the folder 'a\\tb' .* cannot be a class: rename it"),
    ],
)
def test_what_is_wrong_with_the_folders_is_one_line(root, files, line):
    root.mkdir()
    for name in files:
        (root / name).mkdir(parents=True)
    tree(root, files)
    with pytest.raises(DataError, match=line) as caught:
        load(root)
    assert "\n" not in str(caught.value)


def test_a_class_without_images_is_named(root):
    tree(root, {"train/b": 1, "test/a": 1, "test/b": 1})
    (root / "train/a").mkdir()
    (root / "train/c").mkdir()
    with pytest.raises(DataError, match=r"class 'a' .* has no train image .*and 1 more like it"):
        load(root)


def test_the_folder_must_be_said_and_be_there(root):
    with pytest.raises(DataError, match=r"data\.folder=PATH"):
        Folder().load()
    with pytest.raises(DataError, match=r"there is no folder .*data"):
        load(root)
    root.write_text("a file")
    with pytest.raises(DataError, match=r"there is no folder .*data"):
        load(root)


def test_folders_that_lead_back_to_themselves_are_walked_once(root):
    tree(root, {"a": 3, "b": 3})
    (root / "a" / "back").symlink_to(root, target_is_directory=True)
    (root / "b" / "self").symlink_to(root / "b", target_is_directory=True)
    splits = load(root)
    assert len(splits.train) + len(splits.test) == 6


@pytest.mark.parametrize(
    "name", ["Ворона", "鴉", "غراب", "🐦", "e\u0301", "%41 & <b>", "-rf", "con"]
)
def test_classes_and_files_may_be_called_anything_that_can_be_printed(root, name):
    tree(root, {name: 3, "other": 3})
    save(root / name / f"{name}.jpg", 90)
    splits = load(root)
    assert set(splits.class_names) == {name, "other"}
    assert f"{name}/{name}.jpg" in [*names_of(splits.train), *names_of(splits.test)]


def test_a_file_that_may_not_be_read_is_one_line(root):
    tree(root, {"a": 3, "b": 3})
    (root / "a" / "secret.jpg").mkdir(mode=0)  # as unreadable for root as for others
    (root / "a" / "loop.jpg").symlink_to("loop.jpg")
    assert len(load(root).train) >= 2
