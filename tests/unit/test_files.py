"""Files are whole or not there, whatever fails, and a folder has one writer."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from remanence.core import files
from remanence.core.errors import FolderError, Interrupted

HOLDS = """
import sys, time
from pathlib import Path
from remanence.core import files
with files.locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""

RESERVES = HOLDS.replace("locked(Path(sys.argv[1]))", "reserved(Path(sys.argv[1]), print)")


@pytest.mark.parametrize("content", ["", "text\n", "Grün", b"", b"\x00\xff" * 10_000])
def test_what_is_written_is_there(content: bytes | str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    for _ in range(2):
        files.write(path, content)
        assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(tmp_path.iterdir()) == [path]


def test_others_may_read_what_the_umask_lets_them(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        files.write(tmp_path / "file", "text")
        assert os.umask(0o027) == 0o027, "it is as it was"
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def _full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("step", ["mkstemp", "fdopen", "fsync", "chmod", "replace"])
def test_a_write_that_fails_leaves_the_old_file(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    files.write(path, "old")
    monkeypatch.setattr(tempfile if step == "mkstemp" else os, step, _full)
    with pytest.raises(FolderError, match=r"cannot write .*file: No space left.*free some space"):
        files.write(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path], "nothing is left beside it"


def test_a_write_that_is_interrupted_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "file"
    files.write(path, "old")
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    with files.locked(tmp_path):
        assert {file.name for file in tmp_path.iterdir()} == {"file", "lock"}


@pytest.mark.parametrize("write", [True, False], ids=["write", "make_folder"])
def test_a_path_below_a_file_is_one_line(write: bool, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    below = tmp_path / "file" / "below"
    with pytest.raises(FolderError, match=r"cannot write .*Not a directory") as error:
        files.write(below, "text") if write else files.make_folder(below)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 4


def test_a_folder_in_the_place_of_a_file_stays(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(FolderError, match="cannot write"):
        files.write(tmp_path / "file", "text")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_folder_is_made_with_its_parents_and_may_be_there(tmp_path: Path) -> None:
    for _ in range(2):
        files.make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_second_holder_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    with files.locked(tmp_path):
        with pytest.raises(FolderError, match=r"another process is running in .*wait for it"):
            files.locked(tmp_path).__enter__()
        with pytest.raises(FolderError):
            files.locked(tmp_path).__enter__()
    with files.locked(tmp_path):
        pass


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(FolderError):
            files.locked(tmp_path).__enter__()
        holder.send_signal(signal.SIGKILL)
    with files.locked(tmp_path):
        pass


def test_the_unfinished_is_removed_and_only_that(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    unfinished = [tmp_path / ".a.x1.part", tmp_path / "below" / ".b.x2.part"]
    mine = [tmp_path / "a.part", tmp_path / ".hidden", tmp_path / "below" / "b"]
    for file in unfinished + mine:
        file.touch()
    with files.locked(tmp_path):
        assert not any(file.exists() for file in unfinished)
        assert all(file.exists() for file in mine)


def test_a_folder_that_is_not_there_cannot_be_held(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="cannot write"):
        files.locked(tmp_path / "nowhere").__enter__()


def test_a_reserved_name_is_waited_for_and_leaves_nothing(tmp_path: Path) -> None:
    path, waited = tmp_path / "file", []
    command = [sys.executable, "-c", RESERVES, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        with files.reserved(path, lambda: waited.append(process.kill())):
            assert process.wait() == -signal.SIGKILL, "held until it was killed"
            assert [file.name for file in tmp_path.iterdir()] == ["file.lock"]
    assert waited
    assert list(tmp_path.iterdir()) == []


def test_waiting_for_a_reserved_name_can_be_given_up(tmp_path: Path) -> None:
    def give_up() -> None:
        raise Interrupted("enough", signal.SIGINT)

    path = tmp_path / "file"
    with files.reserved(path, give_up), pytest.raises(Interrupted), files.reserved(path, give_up):
        pass
    assert list(tmp_path.iterdir()) == []
