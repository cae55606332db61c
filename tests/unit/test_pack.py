"""A pack shows what the files show, can be cut at any moment, and says when it is damaged."""

from pathlib import Path

import made_photographs
import pytest
import torch

from remanence.cli.main import main
from remanence.core.errors import DataError, FolderError
from remanence.data.folder import Folder
from remanence.data.packed import Packed
from remanence.photographs import pack as packing

COUNTS = {"train/ant": 5, "train/bee": 4, "test/ant": 2, "test/bee": 3}
SIZE = (40, 30)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    made_photographs.tree(tmp_path / "photos", COUNTS, size=SIZE)
    return tmp_path / "photos"


@pytest.fixture(autouse=True)
def small_lots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "LOT", 4)


def command(photos: Path, *more: str) -> list[str]:
    out = str(photos.parent / "pack")
    return ["pack", out, "data=folder", f"data.folder={photos}", "--quiet", *more]


def packed(photos: Path, size: int = 8) -> Packed:
    return Packed(folder=str(photos.parent / "pack"), size=size)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "lock"}


def test_a_pack_is_seen_like_the_files_that_are_in_it(photos: Path) -> None:
    assert main(command(photos, "--side", "64")) == 0  # nothing is made smaller
    source = Folder(folder=str(photos), size=30)  # so large that no JPEG is decoded at a half
    splits, others = packed(photos, size=30).load(), source.load()
    assert splits.class_names == others.class_names
    for part, other in ((splits.train, others.train), (splits.test, others.test)):
        assert torch.equal(part.labels, other.labels) and part.names() == other.names()
        assert torch.equal(part.pixels, other.pixels) and part.nbytes == other.nbytes
        assert [one.hash for one in part.sources()] == [one.hash for one in other.sources()]
        everything, chances = [torch.arange(len(part))], torch.arange(len(part))
        (crops,), (wanted,) = (one.seen(everything, chances) for one in (part, other))
        assert torch.equal(crops, wanted)
    names = ("scale", "order", "base", "increment", "augmentation", "backbone")
    assert all(getattr(packed(photos), name) == getattr(source, name) for name in names)


def test_what_is_larger_is_made_smaller_once(photos: Path) -> None:
    assert main(command(photos, "--side", "10")) == 0
    size = sum(file.stat().st_size for file in (photos.parent / "pack").glob("*.pixels"))
    assert size == sum(COUNTS.values()) * 10 * 13 * 3
    views = packed(photos).load().train.pixels.float()
    wanted = Folder(folder=str(photos), size=8).load().train.pixels.float()
    assert (views - wanted).abs().mean() < 8


@pytest.mark.parametrize("writes", [0, 1, 2, 4, 7])
def test_a_pack_that_was_cut_goes_on(
    photos: Path, writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(command(photos)) == 0
    folder = photos.parent / "pack"
    whole = contents(folder)
    for file in folder.iterdir():
        file.unlink()
    left, write = [writes], packing.files.write

    def cut(path: Path, content: bytes | str) -> None:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(packing.files, "write", cut)
        assert main(command(photos)) == 130
    if writes:
        with pytest.raises(DataError, match="goes on"):
            packed(photos).load()
    assert main(command(photos)) == 0
    assert contents(folder) == whole


def test_what_cannot_be_read_is_gray_and_told_of(photos: Path) -> None:
    broken = sorted((photos / "train" / "bee").iterdir())[0]
    broken.write_bytes(broken.read_bytes()[:-100])
    assert main(command(photos)) == 0
    train = packed(photos).load().train
    place = train.names().index(f"train/bee/{broken.name}")
    assert bool((train.pixels[place] == 128).all())
    assert list(train.unreadable) == [f"train/bee/{broken.name}"]


def test_a_changed_byte_is_noticed(photos: Path) -> None:
    assert main(command(photos)) == 0
    file = photos.parent / "pack" / "00001.pixels"
    pixels = bytearray(file.read_bytes())
    pixels[100] ^= 1
    file.write_bytes(bytes(pixels))
    train = packed(photos).load().train
    with pytest.raises(DataError, match=r"00001\.pixels is damaged"):
        train.seen([torch.arange(len(train))]).__next__()


@pytest.mark.parametrize("name", ["00000.pixels", "00001.json", "pack.json"])
@pytest.mark.parametrize("content", [None, b"", b"[]"])
def test_a_file_that_is_gone_or_cut_is_noticed(
    photos: Path, name: str, content: bytes | None
) -> None:
    assert main(command(photos)) == 0
    file = photos.parent / "pack" / name
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(DataError, match="pack"):
        packed(photos).load()


def test_another_pack_is_not_written_over(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(photos)) == 0
    before = contents(photos.parent / "pack")
    assert main(command(photos, "--side", "20")) == FolderError.exit_code
    assert "choose another folder" in capsys.readouterr().err
    assert main(command(photos)) == 0
    assert contents(photos.parent / "pack") == before


def test_images_in_memory_and_folders_that_are_no_pack_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pack", str(tmp_path / "pack"), "data=digits", "--quiet"]) == 2
    assert "nothing to pack" in capsys.readouterr().err
    assert main(["run", "digits-lucir", "data=packed", f"data.folder={tmp_path}"]) == 3
    assert "remanence pack" in capsys.readouterr().err


def test_a_run_on_a_pack_goes_to_its_end(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(photos)) == 0
    chosen = [f"data.folder={photos.parent / 'pack'}", "data.size=16", "stream.sizes=1,1"]
    chosen += ["backbone=convnet", "training.epochs=1", "memory.per_class=1", "method=lucir"]
    where = ["--out", str(photos.parent / "run"), "--runs", str(photos.parent), "--quiet"]
    assert main(["run", "digits-finetune", "data=packed", *chosen, *where]) == 0
    assert "cnn" in capsys.readouterr().out


def test_pixels_are_checked_once(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(command(photos)) == 0
    train = packed(photos).load().train
    first = train.pixels
    monkeypatch.setattr("zlib.crc32", lambda _: pytest.fail("checked again"))
    assert torch.equal(train.pixels, first)
