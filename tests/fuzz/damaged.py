"""True examples, damaged: bytes cut, flipped, doubled; trees with other values in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

DEEP = 3000  # lists in lists; more than Python recurses
NUMBERS = st.integers() | st.floats() | st.sampled_from([0, -1, 2**31, 2**63, 10**30])
VALUES: SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def damaged(draw: DrawFn, examples: Sequence[bytes]) -> bytes:
    """One of the examples after up to three accidents, or noise."""
    content = draw(st.sampled_from(examples))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 40)))
        accident = draw(st.sampled_from(["cut", "flip", "put", "drop", "double", "noise"]))
        if accident == "cut":
            content = content[:start]
        elif accident == "flip" and start < len(content):
            flipped = content[start] ^ (1 << draw(st.integers(0, 7)))
            content = content[:start] + bytes([flipped]) + content[start + 1 :]
        elif accident == "put":
            content = content[:start] + draw(st.binary(max_size=12)) + content[end:]
        elif accident == "drop":
            content = content[:start] + content[end:]
        elif accident == "double":
            content = content[:end] + content[start:]
        elif accident == "noise":
            content = draw(st.binary(max_size=60))
    return content


@st.composite
def changed(draw: DrawFn, example: Any) -> Any:
    """A tree of plain values with up to three of its parts replaced, left out or added."""
    tree = json.loads(json.dumps(example))
    for _ in range(draw(st.integers(0, 3))):
        tree = _changed(draw, tree)
    return tree


def _changed(draw: DrawFn, tree: Any) -> Any:
    if not isinstance(tree, dict | list) or not tree or draw(st.integers(0, 3)) == 0:
        return draw(VALUES)
    key = draw(st.sampled_from(sorted(tree) if isinstance(tree, dict) else range(len(tree))))
    copy = tree.copy()
    match draw(st.sampled_from(["below", "below", "drop", "add"])):
        case "below":
            copy[key] = _changed(draw, tree[key])
        case "drop":
            del copy[key]
        case "add" if isinstance(copy, dict):
            copy[draw(st.text(max_size=6))] = draw(VALUES)
    return copy


def texts(example: Any) -> SearchStrategy[str]:
    """JSON of such a tree, or damaged JSON, or what is nested too deeply."""
    true = json.dumps(example, indent=1).encode()
    return st.one_of(
        changed(example).map(json.dumps),
        damaged([true]).map(lambda content: content.decode(errors="replace")),
        st.sampled_from(["[" * DEEP, '{"a":' * DEEP, "[" * DEEP + "]" * DEEP, "9" * 5000]),
    )
