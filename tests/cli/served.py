"""A model that is served here, in a thread, and questions to it over a real connection."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from made_classes import photos

from remanence.learning import Wishes, learn
from remanence.serve.in_use import InUse
from remanence.serve.server import listening, server_of, with_token
from remanence.serve.serving import Serving

TRUST = Wishes(own_code=True)
BOUNDARY = "a-boundary"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def told(self) -> Any:
        return json.loads(self.body)

    @property
    def line(self) -> str:
        """The line that a refusal is."""
        assert list(self.told) == ["error"]
        assert "\n" not in self.told["error"]
        return str(self.told["error"])


@dataclass(frozen=True)
class Client:
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(
        self,
        path: str,
        body: bytes | None = None,
        method: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """GET, or POST where there is a body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            method = method or ("GET" if body is None else "POST")
            connection.request(method, path, body, dict(headers or {}))
            got = connection.getresponse()
            names = {name.lower(): value for name, value in got.getheaders()}
            return Answer(got.status, names, got.read())

    def teach(self, name: str, *photographs: bytes | Path, **headers: str) -> Answer:
        """Begin a lesson."""
        kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        return self.ask("/api/teach", form(name, *photographs), headers=kind | headers)

    def lesson(self) -> dict[str, Any]:
        """What the lesson came to, when it is over."""
        return self.until(lambda now: now["state"] not in ("receiving", "running"))

    def until(self, is_so: Any, seconds: float = 60) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while not is_so(now := self.ask("/api/teaching").told):
            assert time.monotonic() < end, now
            time.sleep(0.02)
        found: dict[str, Any] = now
        return found

    def named(self, photograph: Path) -> str:
        """The class that a photograph is taken for."""
        return str(
            self.ask("/api/predict", photograph.read_bytes()).told["predictions"][0]["class"]
        )


def form(name: str, *photographs: bytes | Path) -> bytes:
    """A lesson, as a browser sends it."""
    head = f"--{BOUNDARY}\r\nContent-Disposition: form-data; name="
    sent = f'{head}"class"\r\n\r\n{name}\r\n'.encode()
    for one in photographs:
        file, content = (one.name, one.read_bytes()) if isinstance(one, Path) else ("x", one)
        about = f'"photographs"; filename="{file}"\r\nContent-Type: image/png'
        sent += f"{head}{about}\r\n\r\n".encode() + content + b"\r\n"
    return sent + f"--{BOUNDARY}--\r\n".encode()


def model_of_colours(folder: Path, *names: str) -> Path:
    """A model that knows red and green, or others; it keeps two photographs of each."""
    wishes = Wishes(own_code=True, backbone="made_classes:Colours", side=8, keep="2")
    learn(folder / "m", photos(folder / "a", *(names or ("red", "green"))), wishes)
    return folder / "m"


@contextlib.contextmanager
def served(model: Path, **chosen: Any) -> Iterator[Client]:
    """A server for a while."""
    serving = with_token(Serving(**{"port": 0, "wishes": TRUST, **chosen}))
    with listening(serving) as listener:
        server = server_of(serving, InUse(model, own_code=True))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.005)
                assert thread.is_alive()
            yield Client(listener.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()
