"""A data set is found in the order of the places, in any packing, and only when it is whole."""

import contextlib
import gzip
import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from remanence.core.errors import DataError
from remanence.core.packings import Found, Packing, data_folders, find

PLAIN = Packing("set-plain", ("names.txt", "all.bin"))
OTHER = Packing("set-other", ("meta", "all"))
CONTENT = {name: name.encode() * 50 for name in (*PLAIN.files, *OTHER.files)}
LIMIT = 50_000

either = pytest.mark.parametrize("packing", [PLAIN, OTHER], ids=["plain", "other"])


def written(folder: Path, packing: Packing) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in packing.files:
        (folder / name).write_bytes(CONTENT[name])
    return folder


def packed(path: Path, names: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            content = CONTENT.get(Path(name).name, b"")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def members(packing: Packing, prefix: str = "") -> list[str]:
    return [f"{prefix}{packing.folder}/{name}" for name in packing.files]


def search(*places: Path, limit: int = LIMIT) -> Found:
    return find("set", (PLAIN, OTHER), places, limit)


def assert_found(packing: Packing, *places: Path) -> None:
    found, parts = search(*places)
    assert found == packing
    assert [part.content for part in parts] == [CONTENT[name] for name in packing.files]


def refusal(*places: Path, limit: int = LIMIT) -> str:
    with pytest.raises(DataError) as caught:
        search(*places, limit=limit)
    message = str(caught.value)
    assert "\n" not in message and ": " in message
    return message


def test_a_chosen_folder_is_the_only_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMANENCE_DATA", "named")
    assert data_folders("chosen") == [Path("chosen")]


def test_otherwise_the_variable_then_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    monkeypatch.setenv("REMANENCE_DATA", "~/named")
    assert data_folders() == [Path("/home/somebody/named"), Path("/elsewhere/remanence/data")]
    monkeypatch.delenv("REMANENCE_DATA")
    assert data_folders() == [Path("/elsewhere/remanence/data")]


@pytest.mark.parametrize("unusable", ["", "not/absolute"])
def test_the_cache_is_in_the_home_folder(monkeypatch: pytest.MonkeyPatch, unusable: str) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("XDG_CACHE_HOME", unusable)
    monkeypatch.setenv("REMANENCE_DATA", "")
    assert data_folders() == [Path("/home/somebody/.cache/remanence/data")]


@either
def test_every_form_of_a_place(tmp_path: Path, packing: Packing) -> None:
    assert_found(packing, written(tmp_path / "a" / packing.folder, packing))
    assert_found(packing, tmp_path / "a")
    assert_found(packing, written(tmp_path / "renamed", packing))
    assert_found(
        packing, packed(tmp_path / "b" / f"{packing.folder}.tar.gz", members(packing)).parent
    )
    assert_found(packing, packed(tmp_path / "any.name", members(packing, "./")))


def test_the_first_place_wins(tmp_path: Path) -> None:
    one, two = written(tmp_path / "one", PLAIN), written(tmp_path / "two", OTHER)
    assert_found(PLAIN, tmp_path / "none", one, two)
    assert_found(OTHER, two, one)


def test_nothing_anywhere(tmp_path: Path) -> None:
    message = refusal(tmp_path / "one", tmp_path / "two")
    for part in (str(tmp_path / "one"), str(tmp_path / "two"), "'remanence download set'"):
        assert part in message
    assert "data.folder=" in message and "REMANENCE_DATA" in message


@either
def test_a_missing_file_is_named_unless_another_copy_is_whole(
    tmp_path: Path, packing: Packing
) -> None:
    for name in packing.files:
        folder = written(tmp_path / f"without-{name}" / packing.folder, packing)
        (folder / name).unlink()
        assert f"{folder / name} is missing" in refusal(folder.parent)
        packed(folder.parent / "set-plain.tar.gz", members(PLAIN))
        assert_found(PLAIN, folder.parent)


def test_folders_by_the_name_of_a_file_are_none(tmp_path: Path) -> None:
    for name in OTHER.files:
        (tmp_path / name).mkdir()
    assert "not on this machine" in refusal(tmp_path)


def test_what_is_too_large_is_not_read(tmp_path: Path) -> None:
    largest = max(len(content) for content in CONTENT.values())
    folder = written(tmp_path / "folder", PLAIN)
    assert "names.txt is larger" in refusal(folder, limit=largest - 1)
    search(folder, limit=largest)
    archive = packed(tmp_path / "archive", members(PLAIN))
    unpacked = len(gzip.decompress(archive.read_bytes()))
    assert "unpacks to more than" in refusal(archive, limit=unpacked - 1)
    search(archive, limit=unpacked)


@either
def test_an_archive_without_a_file(tmp_path: Path, packing: Packing) -> None:
    first, second = members(packing)
    assert f"archive has no {second}" in refusal(packed(tmp_path / "archive", [first]))


def test_an_archive_is_not_extracted(tmp_path: Path) -> None:
    archive = packed(tmp_path / "only" / "archive", [*members(PLAIN), "../escaped", "/absolute"])
    assert_found(PLAIN, archive)
    packed(archive, members(PLAIN, "../"))
    assert "has no set-plain" in refusal(archive)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["archive", "only"]


def test_a_link_in_an_archive_is_no_file(tmp_path: Path) -> None:
    outside = written(tmp_path / "outside", PLAIN)
    with tarfile.open(tmp_path / "archive", "w:gz") as archive:
        for name in PLAIN.files:
            member = tarfile.TarInfo(f"{PLAIN.folder}/{name}")
            member.type, member.linkname = tarfile.SYMTYPE, str(outside / name)
            archive.addfile(member)
    assert "has no set-plain" in refusal(tmp_path / "archive")


@pytest.mark.parametrize("content", [b"", b"text", gzip.compress(b"text", mtime=0)])
def test_what_is_no_archive(tmp_path: Path, content: bytes) -> None:
    archive = tmp_path / "archive"
    archive.write_bytes(content)
    assert str(archive) in refusal(archive)


@given(st.data())
@examples(deadline=None)
def test_a_cut_or_changed_archive(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    archive = packed(tmp_path_factory.mktemp("archive") / "archive", members(PLAIN))
    whole = archive.read_bytes()
    place = data.draw(st.integers(30, len(whole) - 1))  # behind gzip's header: name and time
    archive.write_bytes(whole[:place])
    assert "cannot read" in refusal(archive)
    archive.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    with contextlib.suppress(DataError):  # not every bit matters
        assert_found(PLAIN, archive)


@given(st.integers(0, 511), st.binary(min_size=1, max_size=40))
@examples(deadline=None)
def test_a_changed_header_gives_the_set_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, place: int, noise: bytes
) -> None:
    archive = packed(tmp_path_factory.mktemp("header") / "archive", members(PLAIN))
    content = bytearray(gzip.decompress(archive.read_bytes()))
    content[place : place + len(noise)] = noise
    archive.write_bytes(gzip.compress(bytes(content), 1))
    with contextlib.suppress(DataError):
        assert_found(PLAIN, archive)
