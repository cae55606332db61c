"""How a server is begun and ended: its wishes, its token, its signals."""

from __future__ import annotations

import json
import os
import signal
import socket
from pathlib import Path

import pytest
from commands import Here, check_one_line, started
from served import TRUST, Client, model_of_colours, served

from remanence.core.errors import SettingsError
from remanence.core.settings import decode
from remanence.serve import serving as serving_module
from remanence.serve.serving import Serving


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_of_colours(tmp_path_factory.mktemp("served"))


def test_whoever_reaches_it_from_elsewhere_needs_the_token(model: Path) -> None:
    with served(model, names=("models.example",), token="open sesame") as client:
        for path in ("/api/classes", "/metrics", "/api/kept/x", "/api/teaching", "/nothing"):
            answer = client.ask(path)
            assert answer.status == 401
            assert "Authorization: Bearer" in answer.line
            assert answer.headers["www-authenticate"] == "Bearer"
        for path in ("/", "/page.js", "/health", "/openapi.json"):
            assert client.ask(path).status == 200
        wrong = ("Bearer open sesam", "Bearer", "Basic open sesame", "Bearer open sesame2", "é")
        for given in wrong:
            headers = {"Authorization": given.encode().decode("latin-1")}
            assert client.ask("/api/classes", headers=headers).status == 401
        right = {"Authorization": "Bearer open sesame"}
        assert client.ask("/api/classes", headers=right).status == 200
        elsewhere = {**right, "Host": "models.example"}
        assert client.ask("/api/classes", headers=elsewhere).status == 200
        assert client.ask("/api/classes", headers={**right, "Host": "evil.example"}).status == 403


def test_a_token_is_made_up_where_none_is_chosen() -> None:
    from remanence.serve.server import with_token

    assert with_token(Serving()).token is None
    assert with_token(Serving(host="::1")).token is None
    one, other = (with_token(Serving(host="0.0.0.0")).token for _ in range(2))
    assert one and other and one != other and len(one) >= 20
    assert with_token(Serving(names=("models.example",))).token
    assert with_token(Serving(host="192.0.2.1", token="chosen by hand")).token == "chosen by hand"
    assert Serving(host="0.0.0.0").hosts is None


def test_sizes_are_words_or_numbers() -> None:
    assert decode(Serving, {"max_bytes": "2MB", "max_lesson": "5"}).max_bytes == 2_000_000
    with pytest.raises(SettingsError, match="max_bytes: '2 million' is no size, as in 20MB"):
        decode(Serving, {"max_bytes": "2 million"})


def test_a_server_that_cannot_start_says_why(
    model: Path, tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = check_one_line(here("serve", str(tmp_path / "none")), 4)
    assert "is no model: 'remanence learn" in line
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = check_one_line(here("serve", str(model), "--port", port, "--own-code"), 2)
        assert f"cannot listen at 127.0.0.1 port {port}" in line and "choose another" in line
    line = check_one_line(here("serve", str(model), "--host", "no.such.host.", "--own-code"), 2)
    assert "cannot listen at no.such.host." in line
    line = check_one_line(here("serve", str(model), "--token", "short"), 2)
    assert line.startswith("remanence: token: ")
    line = check_one_line(here("serve", str(model), "--port", "70000"), 2)
    assert line.startswith("remanence: port: ")
    monkeypatch.setitem(serving_module.TAKES, "no_such_module", "no-such-module")
    line = check_one_line(here("serve", str(model)), 2)
    assert "takes no-such-module: pip install 'remanence[serve]'" in line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_a_signal_ends_it_cleanly(number: signal.Signals, model: Path) -> None:
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        process = started("serve", str(model), "--port", "0", "--own-code", "--verbose")
    with process:
        try:
            assert process.stdout is not None and process.stderr is not None
            told = process.stdout.readline()
            assert told.startswith(f"{model}: version 1, 2 classes, at http://127.0.0.1:")
            client = Client(int(told.strip().rstrip("/").rpartition(":")[2]))
            assert client.ask("/health").status == 200
            assert client.ask("/a%0Aline%1b[31m").status == 404
            process.send_signal(number)
            first, second, last = process.stderr.read().splitlines()
        finally:
            process.kill()
    assert process.returncode == 128 + number
    assert first.startswith("GET /health 200 ")
    assert second.startswith("GET /a?line?[31m 404 ")
    assert last == "remanence: stopped as asked"


def test_wishes_of_the_command_line_are_those_of_the_lessons(
    model: Path, monkeypatch: pytest.MonkeyPatch, here: Here
) -> None:
    found: list[Serving] = []
    monkeypatch.setattr(
        "remanence.serve.server.serve", lambda model, serving, verbose: found.append(serving)
    )
    monkeypatch.setenv("REMANENCE_TOKEN", "from the environment")
    words = ("--max-drop", "2", "--keep", "0", "--own-code", "--max-bytes", "1MB", "--read-only")
    assert here("serve", str(model), *words, "--allow-name", "a.example").code == 0
    (serving,) = found
    assert (serving.wishes.max_drop, serving.wishes.keep) == (2, "0")
    assert serving.wishes.own_code == TRUST.own_code
    assert (serving.max_bytes, serving.teaches) == (1_000_000, False)
    assert (serving.token, serving.names) == ("from the environment", ("a.example",))
    assert json.dumps(sorted(serving.hosts or ())) == json.dumps(
        ["127.0.0.1", "::1", "a.example", "localhost"]
    )
