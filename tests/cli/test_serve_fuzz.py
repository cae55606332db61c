"""Hundreds of requests that nobody would send: each is answered, and none with a fault of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_classes import photos
from served import BOUNDARY, Client, form, model_of_colours, served

from remanence.serve.teaching import Teacher

KNOWN = ["/", "/page.js", "/api/predict", "/api/classes", "/api/teach", "/api/teaching", "/health"]
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "BREW"]
FORM = f"multipart/form-data; boundary={BOUNDARY}"

visible = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30)
words = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_categories=["Cc"]))
paths = st.one_of(
    st.sampled_from(KNOWN),
    st.sampled_from(KNOWN).flatmap(lambda path: visible.map(lambda rest: f"{path}?{rest}")),
    st.sampled_from(["top", "nearest"]).flatmap(
        lambda key: visible.map(lambda value: f"/api/predict?{key}={value}")
    ),
    visible.map(lambda rest: f"/api/kept/{rest}"),
    visible.map(lambda rest: f"/{rest}"),
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "Content-Type": st.one_of(
            words, st.sampled_from([FORM, "multipart/form-data", "image/png"])
        ),
        "Origin": st.one_of(words, st.sampled_from(["null", "http://[", "http://localhost"])),
        "Host": st.one_of(words, st.sampled_from(["localhost", "[::1", "127.0.0.1:x"])),
        "Authorization": words,
        "Expect": st.sampled_from(["100-continue", "nothing"]),
        "Range": words,
    },
)


@pytest.fixture(scope="module")
def photograph(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return next(photos(tmp_path_factory.mktemp("one"), "red", count=1).rglob("*.png")).read_bytes()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server whose lessons are all over as soon as they begin."""
    model: Path = model_of_colours(tmp_path_factory.mktemp("served"))
    with pytest.MonkeyPatch.context() as patch, served(model, max_bytes=9000) as found:
        patch.setattr(Teacher, "begin", lambda self, lesson: lesson.forget())
        yield found
        assert found.ask("/health").told["teaching"] == "idle"


def many(count: int) -> settings:
    """So many examples, the same ones every time."""
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(
        max_examples=count, deadline=None, derandomize=True, suppress_health_check=checks
    )


def check(client: Client, path: str, body: bytes | None, method: str, given: dict[str, str]) -> int:
    sent = {
        name: value.strip().encode("latin-1").decode("latin-1") for name, value in given.items()
    }
    answer = client.ask(path, body, method, sent)
    assert 200 <= answer.status < 500, (answer.status, answer.body)
    if (
        answer.status >= 400
        and method != "HEAD"
        and answer.body != b"Invalid HTTP request received."
    ):
        assert answer.line
    return answer.status


@many(250)
@given(
    path=paths,
    body=st.one_of(st.none(), st.binary(max_size=300)),
    method=st.sampled_from(METHODS),
    given=headers,
)
def test_any_request_is_answered(
    client: Client, path: str, body: bytes | None, method: str, given: dict[str, str]
) -> None:
    check(client, path, body, method, given)


changes = st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=4)), max_size=6)


def changed(content: bytes, edits: list[tuple[float, bytes]]) -> bytes:
    """Some bytes written over, and what follows shifted or not."""
    for where, instead in edits:
        place = int(where * len(content))
        content = content[:place] + instead + content[place + len(instead) // 2 * 2 :]
    return content


@many(120)
@given(edits=changes)
def test_any_photograph_is_named_or_refused(
    client: Client, photograph: bytes, edits: list[tuple[float, bytes]]
) -> None:
    status = check(client, "/api/predict", changed(photograph, edits), "POST", {})
    assert status in (200, 422)


@many(120)
@given(name=st.text(max_size=40), edits=changes)
def test_any_lesson_begins_or_is_refused(
    client: Client, photograph: bytes, name: str, edits: list[tuple[float, bytes]]
) -> None:
    plain = name.encode("utf-8", "replace").decode()
    lesson = changed(form(plain, photograph, photograph), edits)
    status = check(client, "/api/teach", lesson, "POST", {"Content-Type": FORM})
    assert status in (202, 400, 413, 422)
