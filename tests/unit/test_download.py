"""A download is whole and right, or it leaves nothing behind."""

import hashlib
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from remanence.core import download
from remanence.core.download import fetch
from remanence.core.errors import DataError, FolderError
from remanence.core.progress import Progress
from remanence.data import cifar100

CONTENT = bytes(range(256)) * 10_000
MD5 = hashlib.md5(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves the same bytes in good and in bad ways."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path == "/silent":
            self.server.released.wait(10)
            return
        if self.path == "/garbled":
            self.wfile.write(b"\0\1\2\n\n")
            return
        if self.path == "/missing":
            self.send_error(404)
            return
        self.send_response(200)
        if self.path != "/unsized":
            self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[:1_500_000] if self.path == "/broken" else CONTENT)

    def log_message(self, *arguments: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """On this machine only; `asked` lists what was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.released = threading.Event()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class Watch(Progress):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.busy_with = ""
        self.steps = 0
        self.done = 0

    def doing(self, what: str) -> None:
        self.busy_with = what

    def planned(self, steps: int) -> None:
        self.steps = steps

    def stepped(self, steps: int = 1) -> None:
        self.done += steps


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.released.set()
        running.shutdown()
        thread.join()


def refusal(url: str, target: Path, md5: str = MD5) -> str:
    """The one line that a failed download comes to; nothing new may be left beside it."""
    before = sorted(target.parent.iterdir()) if target.parent.exists() else []
    with pytest.raises(DataError) as caught:
        fetch(url, target, md5, Progress())
    assert sorted(target.parent.iterdir()) == before
    message = str(caught.value)
    assert "\n" not in message and url in message and str(target) in message
    return message


@pytest.mark.parametrize("path", ["/good", "/unsized"])
def test_the_file_is_whole_and_alone(server: Server, tmp_path: Path, path: str) -> None:
    target = tmp_path / "new" / "folder" / "file.bin"
    assert fetch(server.url(path), target, MD5, Progress()) == target
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]


def test_progress_says_what_and_how_far(server: Server, tmp_path: Path) -> None:
    watch = Watch()
    fetch(server.url("/good"), tmp_path / "file.bin", MD5, watch)
    assert "file.bin" in watch.busy_with
    assert watch.done == watch.steps == 3


def test_nothing_is_done_where_the_file_is_right(server: Server, tmp_path: Path) -> None:
    target = tmp_path / "file.bin"
    target.write_bytes(CONTENT)
    before = target.stat().st_mtime_ns
    assert fetch(server.url("/good"), target, MD5, Progress()) == target
    assert server.asked == [] and target.stat().st_mtime_ns == before


def test_a_wrong_file_is_replaced(server: Server, tmp_path: Path) -> None:
    target = tmp_path / "file.bin"
    target.write_bytes(CONTENT[:-1])
    fetch(server.url("/good"), target, MD5, Progress())
    assert target.read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(server: Server, tmp_path: Path) -> None:
    message = refusal(server.url("/good"), tmp_path / "file.bin", "0" * 32)
    assert MD5 in message and "0" * 32 in message


def test_a_failure_keeps_what_was_there(server: Server, tmp_path: Path) -> None:
    target = tmp_path / "file.bin"
    target.write_bytes(b"older")
    refusal(server.url("/broken"), target)
    assert target.read_bytes() == b"older"


@pytest.mark.parametrize(
    ("path", "reason"), [("/broken", "broke off"), ("/missing", "Not Found"), ("/garbled", "")]
)
def test_a_failing_server(server: Server, tmp_path: Path, path: str, reason: str) -> None:
    assert reason in refusal(server.url(path), tmp_path / "file.bin")


def test_a_silent_server(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "TIMEOUT_SECONDS", 0.2)
    assert "timed out" in refusal(server.url("/silent"), tmp_path / "file.bin")


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/file.bin"
        assert "by hand" in refusal(url, tmp_path / "new" / "file.bin")


def test_a_folder_that_cannot_be(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(FolderError):
        fetch(server.url("/good"), tmp_path / "file" / "file.bin", MD5, Progress())
    (tmp_path / "taken").mkdir()
    with pytest.raises(FolderError):
        fetch(server.url("/good"), tmp_path / "taken", MD5, Progress())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken"]


def test_a_stop_leaves_nothing(server: Server, tmp_path: Path) -> None:
    class Stopped(Progress):
        def stepped(self, steps: int = 1) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(server.url("/good"), tmp_path / "file.bin", MD5, Stopped())
    assert list(tmp_path.iterdir()) == []


def test_cifar100_goes_where_it_is_looked_for(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cifar100, "URL", server.url("/good"))
    monkeypatch.setattr(cifar100, "MD5", MD5)
    assert cifar100.download(tmp_path, Progress()) == tmp_path / "cifar-100-python.tar.gz"
    assert (tmp_path / "cifar-100-python.tar.gz").read_bytes() == CONTENT
