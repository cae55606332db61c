"""What a server does not take, and from whom; one line says so each time."""

from __future__ import annotations

import gc
import io
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from made_classes import photos
from PIL import Image
from served import Client, form, model_of_colours, served

from remanence.serve.connection import Connection
from remanence.serve.in_use import InUse


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_of_colours(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def client(model: Path) -> Iterator[Client]:
    with served(model, max_bytes=50_000, max_lesson=200_000) as found:
        yield found


@pytest.fixture(scope="module")
def photograph(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = photos(tmp_path_factory.mktemp("one"), "red", count=1)
    return (folder / "red" / "000.png").read_bytes()


HOSTS = {
    "rebound": ("evil.example", 403),
    "rebound, our port": ("evil.example:8000", 403),
    "ours": ("localhost:9999", 200),
    "IPv6": ("[::1]:8000", 200),
    "capitals": ("LocalHost", 200),
    "nothing": ("", 403),
    "malformed": ("[::1", 403),
    "another machine": ("127.0.0.1.evil.example", 403),
}


@pytest.mark.parametrize(("host", "status"), HOSTS.values(), ids=HOSTS)
def test_who_calls_it_by_another_name_is_refused(host: str, status: int, client: Client) -> None:
    answer = client.ask("/api/classes", headers={"Host": host})
    assert answer.status == status
    assert status == 200 or "does not go by that name" in answer.line


PAGES = {
    "other": ({"Origin": "https://evil.example"}, 403),
    "other port": ({"Origin": "http://localhost:3000"}, 403),
    "sandboxed": ({"Origin": "null"}, 403),
    "other site": ({"Sec-Fetch-Site": "cross-site"}, 403),
    "same site": ({"Sec-Fetch-Site": "same-site"}, 403),
    "ours": ({"Origin": "http://localhost:8000", "Sec-Fetch-Site": "same-origin"}, 200),
    "behind TLS": ({"Origin": "https://localhost:8000"}, 200),
    "no browser": ({}, 200),
}


@pytest.mark.parametrize(("headers", "status"), PAGES.values(), ids=PAGES)
def test_pages_of_others_cannot_post(
    headers: dict[str, str], status: int, client: Client, photograph: bytes
) -> None:
    ours = {"Host": "localhost:8000", **headers}
    answer = client.ask("/api/predict", photograph, headers=ours)
    assert answer.status == status
    if status == 403:
        assert "page of somebody else" in answer.line
        assert client.ask("/api/teaching", method="DELETE", headers=ours).status == 403
        assert client.ask("/api/teach", form("blue"), headers=ours).status == 403
        assert client.ask("/api/teaching").told["state"] == "idle"


def _bomb(side: int) -> bytes:
    """An image of many more pixels than bytes."""
    content = io.BytesIO()
    Image.fromarray(np.zeros((side, side), np.uint8)).convert("1").save(content, "PNG")
    return content.getvalue()


BODIES = {
    "nothing": (b"", 422, "cannot be read as an image"),
    "no image": (b"GIF89a and nothing more", 422, "cannot be read as an image"),
    "text": ("été".encode(), 422, "no image, or of a format"),
    "too many pixels": (_bomb(9000), 422, "9000 x 9000 pixels, more than 80 million"),
    "too large": (b"x" * 50_001, 413, "more than the 50,000 bytes"),
    "much too large": (b"x" * 3_000_000, 413, "more than the 50,000 bytes"),
}


@pytest.mark.parametrize(("body", "status", "line"), BODIES.values(), ids=BODIES)
def test_what_is_no_photograph_is_refused(
    body: bytes, status: int, line: str, client: Client
) -> None:
    for headers in ({}, {"Content-Type": "multipart/form-data"}):
        answer = client.ask("/api/predict", body, headers=headers)
        assert (answer.status, line in answer.line) == (status, True), answer.line


def test_who_asks_before_sending_too_much_need_not_send_it(client: Client) -> None:
    head = "POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n"
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as sender:
        sender.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
        assert sender.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_a_photograph_that_is_cut_is_refused(client: Client, photograph: bytes) -> None:
    assert client.ask("/api/predict", photograph[:200]).status == 422


def test_an_upload_that_does_not_say_its_size_is_cut_off_all_the_same(client: Client) -> None:
    head = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as sender:
        sender.sendall(head + 6 * (b"2710\r\n" + b"x" * 10_000 + b"\r\n") + b"0\r\n\r\n")
        assert sender.recv(1000).startswith(b"HTTP/1.1 413 ")


QUERIES = {
    "top=0": "top: ",
    "top=many": "top: ",
    "nearest=101": "nearest: ",
    "nearest=-1": "nearest: ",
}


@pytest.mark.parametrize(("query", "line"), QUERIES.items())
def test_wrong_queries_are_named(query: str, line: str, client: Client, photograph: bytes) -> None:
    answer = client.ask(f"/api/predict?{query}", photograph)
    assert (answer.status, answer.line.startswith(line)) == (422, True)


PATHS = (
    "/api/kept/../current",
    "/api/kept/..%2f..%2fcurrent",
    "/api/kept/%2e%2e%2fcurrent",
    "/api/kept/" + "0" * 32,
    "/api/kept/",
    "/page/../serving.py",
    "/..%2fserving.py",
    "/%2e%2e/%2e%2e/etc/passwd",
    "//etc/passwd",
    "/index.html%00.js",
    "/docs",
    "/redoc",
)


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_out(path: str, client: Client) -> None:
    answer = client.ask(path)
    assert (answer.status, answer.line.startswith("not found")) == (404, True) or (
        "no photograph of that name" in answer.line
    )


NAMES = {
    "": "printable text",
    "a/b": "without slashes",
    "a\\b": "without slashes",
    "..": "printable text",
    ".hidden": "begin with a dot",
    "a\u202eb": "printable text",
    "a\tb": "printable text",
    "x" * 101: "at most 100 letters",
    "鳥" * 90: "at most 100 letters",
}


@pytest.mark.parametrize(("name", "line"), NAMES.items(), ids=[repr(n)[:9] for n in NAMES])
def test_a_class_is_called_by_something_that_can_be_read(
    name: str, line: str, client: Client, photograph: bytes
) -> None:
    answer = client.teach(name, photograph, photograph)
    assert (answer.status, line in answer.line) == (422, True), answer.line
    assert client.ask("/api/teaching").told["state"] == "idle"


KIND = {"Content-Type": "multipart/form-data; boundary=a-boundary"}


def test_a_form_that_is_no_lesson_is_refused_and_leaves_nothing(
    client: Client, photograph: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    other = form("blue", photograph).replace(b'"photographs"', b'"photos"')
    text = form("blue").replace(b'name="class"', b'name="photographs"')
    twice = form("blue").replace(b"--a-boundary--\r\n", b"") + form("red", photograph)
    cases: tuple[tuple[bytes, dict[str, str], int, str], ...] = (
        (b'{"class": "blue"}', {"Content-Type": "application/json"}, 415, "multipart"),
        (form("blue"), {"Content-Type": "multipart/form-data"}, 400, "boundary"),
        (b"nonsense", KIND, 400, "cannot be read"),
        (form("blue"), KIND, 422, "takes 2 photographs that can be read, not 0"),
        (form("blue", photograph), KIND, 422, "takes 2 photographs that can be read, not 1"),
        (form("blue", photograph, b"nothing"), KIND, 422, "left out: no image"),
        (form("x" * 2000, photograph), KIND, 400, "cannot be read"),
        (form("blue", b"x" * 60_000, photograph), KIND, 413, "x.jpg has more than the 50,000"),
        (form("blue", *[b"x" * 40_000] * 6), KIND, 413, "more than the 200,000 bytes"),
        (other, KIND, 422, "and nothing else"),
        (twice, KIND, 422, "send one class"),
        (text, KIND, 422, "send one class"),
    )
    for body, headers, status, line in cases:
        answer = client.ask("/api/teach", body, headers=headers)
        assert (answer.status, line in answer.line) == (status, True), answer.line
        assert client.ask("/api/teaching").told["state"] == "idle"
    gc.collect()
    assert list(tmp_path.iterdir()) == [tmp_path / "cwd"]


def test_slow_uploads_and_too_many_at_once_are_refused(model: Path, photograph: bytes) -> None:
    with served(model, patience=1.0, at_once=1) as client:
        head = "POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
        with socket.create_connection(("127.0.0.1", client.port), timeout=20) as slow:
            slow.sendall(head.encode() + b"begun")
            while b"remanence_uploads 1.0" not in client.ask("/metrics").body:
                pass
            answer = client.ask("/api/predict", photograph)
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert "try again soon" in answer.line
            assert b" 408 " in slow.recv(1000)
        assert client.ask("/api/predict", photograph).status == 200


def test_a_request_whose_head_does_not_come_is_cut_off(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "patience", 0.2)
    for begun in (b"", b"GET / HT"):
        with socket.create_connection(("127.0.0.1", client.port), timeout=20) as slow:
            slow.sendall(begun)
            assert slow.recv(1000) == b""
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):  # head and body may come one after the other
            answer += slow.recv(5000)
        assert b" 200 " in answer
        slow.sendall(b"GET /heal")
        assert slow.recv(1000) == b""


def test_a_model_that_is_only_read_is_not_taught(model: Path, photograph: bytes) -> None:
    with served(model, teaches=False) as client:
        assert client.teach("blue", photograph, photograph).status == 404
        assert client.ask("/api/teaching").status == 404
        assert client.ask("/api/classes").told["teaches"] is False


def test_what_goes_wrong_within_is_one_line_too(
    client: Client, photograph: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: InUse) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(InUse, "history", fails)
    answer = client.ask("/api/classes")
    assert (answer.status, "secret" in answer.line) == (500, False)
    assert client.ask("/api/predict", photograph).status == 200


def test_every_answer_holds_browsers_back(client: Client) -> None:
    for path in ("/", "/api/classes", "/nothing", "/page.js"):
        headers = client.ask(path).headers
        assert headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'self'"
        )
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers
    schema = client.ask("/openapi.json").told
    assert {"/api/predict", "/api/classes", "/api/teach", "/health"} <= set(schema["paths"])
