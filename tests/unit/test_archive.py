"""Trees of tensors and plain values come back as they were, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given
from hypothesis import settings as bounded
from hypothesis import strategies as st
from torch import Tensor

from remanence.core import archive
from remanence.core.errors import FolderError

TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int16, torch.uint8]
SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)


@st.composite
def _tensors(draw: st.DrawFn) -> Tensor:
    shape, kind = draw(SHAPES), draw(st.sampled_from([*TYPES, torch.bool]))
    count = int(torch.tensor(shape).prod()) if shape else 1
    values = draw(st.lists(st.integers(0, 100), min_size=count, max_size=count))
    return torch.tensor(values).reshape(shape).to(kind)


VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(["tensor:", "tensor:/a", "a/b", ""])
    | _tensors()
)
KEYS = st.text(max_size=4) | st.sampled_from(["a", "a/b", "/", "__metadata__", "tree"])
TREES = st.recursive(
    VALUES,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3),
    max_leaves=12,
)
some = bounded(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@some
@given(TREES)
def test_what_is_saved_is_loaded(tmp_path: Path, tree: Any) -> None:
    archive.save(tmp_path / "tree.safetensors", tree)
    assert _same(archive.load(tmp_path / "tree.safetensors"), tree)


def test_two_tensors_do_not_share_a_place(tmp_path: Path) -> None:
    """Keys are joined to a path, and these would come to the same one."""
    tree = {"a/b": torch.zeros(2), "a": {"b": torch.ones(2)}}
    archive.save(tmp_path / "tree", tree)
    assert _same(archive.load(tmp_path / "tree"), tree)


def test_a_text_is_not_taken_for_a_tensor(tmp_path: Path) -> None:
    tree = {"text": "tensor:/one", "one": torch.ones(1)}
    archive.save(tmp_path / "tree", tree)
    assert _same(archive.load(tmp_path / "tree"), tree)


def test_tuples_come_back_as_lists_and_numbers_as_keys_as_text(tmp_path: Path) -> None:
    archive.save(tmp_path / "tree", {1: (2, (3,)), "x": ()})
    assert archive.load(tmp_path / "tree") == {"1": [2, [3]], "x": []}


def test_the_layout_and_the_graph_of_a_tensor_are_left_behind(tmp_path: Path) -> None:
    turned = torch.arange(6.0).reshape(2, 3).T
    last = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
    learned = torch.nn.Parameter(torch.ones(3)) * 2
    archive.save(tmp_path / "tree", {"turned": turned, "last": last, "learned": learned})
    loaded = archive.load(tmp_path / "tree")
    assert _same(loaded, {"turned": turned, "last": last, "learned": learned.detach()})
    assert loaded["turned"].is_contiguous()
    assert not loaded["learned"].requires_grad


def test_floats_keep_every_bit(tmp_path: Path) -> None:
    tree = [0.1, 1e-310, float("inf"), -0.0, 2**70]
    archive.save(tmp_path / "tree", tree)
    assert repr(archive.load(tmp_path / "tree")) == repr(tree)


def test_what_cannot_be_kept_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"cannot keep a set at '/a/1'"):
        archive.save(tmp_path / "tree", {"a": [1, {2}]})
    assert list(tmp_path.iterdir()) == []


WHOLE = {"weights": torch.arange(40.0), "lines": ["one", "two"], "position": (1, 2, 3)}


@some
@given(st.floats(0, 1, exclude_max=True))
def test_a_file_that_is_cut_off_is_one_line(tmp_path: Path, part: float) -> None:
    path = tmp_path / "tree"
    archive.save(path, WHOLE)
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    _is_damaged(path)


@some
@given(st.floats(0, 1, exclude_max=True), st.integers(0, 7))
def test_a_file_with_a_flipped_bit_is_one_line(tmp_path: Path, place: float, bit: int) -> None:
    path = tmp_path / "tree"
    archive.save(path, WHOLE)
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    path.write_bytes(content)
    _is_damaged(path)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x80\x04N.", b"\xff" * 64, bytes(64)], ids=str)
def test_another_file_is_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tree"
    path.write_bytes(content)
    _is_damaged(path)


def test_a_file_of_somebody_elses_is_one_line(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"weight": torch.ones(2)}, tmp_path / "tree")
    _is_damaged(tmp_path / "tree")


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    _is_damaged(tmp_path / "nowhere")


def _is_damaged(path: Path) -> None:
    with pytest.raises(FolderError, match=r"cannot read .*delete it") as error:
        archive.load(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def _same(one: Any, other: Any) -> bool:
    if isinstance(other, Tensor):
        alike = isinstance(one, Tensor) and one.dtype == other.dtype and one.shape == other.shape
        return alike and torch.equal(one, other)
    if isinstance(other, dict):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in other)
    if isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other
