"""Trees of settings: checked when made, laid over each other, written and read again."""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import settings as bounded
from hypothesis import strategies as st

from remanence.core.errors import SettingsError
from remanence.core.settings import (
    LARGEST,
    AtLeastOne,
    Counts,
    Fraction,
    NotNegative,
    Numbers,
    Positive,
    Settings,
    assignment,
    decode,
    differences,
    encode,
    filled,
    merged,
    nearest,
    settings,
)


@settings
class Leaf(Settings):
    count: AtLeastOne = 1
    rate: Positive | None = None
    drops: Numbers = ()
    sizes: Counts = ()
    kind: Literal["left", "right"] = "left"
    text: str = ""


@settings
class Root(Settings):
    leaf: Leaf = Leaf()
    share: Fraction = 0.5
    weight: NotNegative = 0.0
    on: bool = False


LEAVES = st.builds(
    Leaf,
    count=st.integers(1, 10**9),
    rate=st.none() | st.floats(0, LARGEST, exclude_min=True),
    drops=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=4).map(tuple),
    sizes=st.lists(st.integers(1, 50), max_size=4).map(tuple),
    kind=st.sampled_from(["left", "right"]),
    text=st.text(max_size=10),
)
ROOTS = st.builds(
    Root,
    leaf=LEAVES,
    share=st.floats(0, 1),
    weight=st.floats(0, LARGEST),
    on=st.booleans(),
)
VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
TREES = st.recursive(
    st.dictionaries(st.sampled_from("abcd"), VALUES, min_size=1, max_size=3),
    lambda below: st.dictionaries(st.sampled_from("abcd"), below | VALUES, min_size=1, max_size=3),
    max_leaves=8,
)
some = bounded(max_examples=80, deadline=None)


@some
@given(ROOTS)
def test_what_is_encoded_is_decoded_to_the_same(root: Root) -> None:
    assert decode(Root, encode(root)) == root
    assert decode(Root, json.loads(json.dumps(encode(root)))) == root


def test_settings_are_frozen_and_made_by_keyword() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Leaf().count = 2  # type: ignore[misc]
    with pytest.raises((TypeError, ValueError)):
        Leaf(2)  # type: ignore[misc]
    assert hash(Leaf(count=2)) == hash(Leaf(count=2))


def test_values_are_checked_when_they_are_made_in_python_too() -> None:
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        Leaf(count=0)
    with pytest.raises(ValueError, match="did you mean 'count'"):
        Leaf(counts=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        ({"leaf": {"cuont": 3}}, "leaf.cuont: unknown setting; did you mean 'count'?"),
        ({"zzz": 3}, "zzz: unknown setting; known: leaf, on, share, weight"),
        ({"leaf": {"count": 0}}, "leaf.count: should be greater than or equal to 1 (got 0)"),
        ({"leaf": {"kind": "up"}}, "leaf.kind: should be 'left' or 'right' (got 'up')"),
        ({"leaf": {"rate": float("inf")}}, "leaf.rate: should be a finite number (got inf)"),
        ({"leaf": 3}, "leaf: should be a dictionary or an instance of Leaf (got 3)"),
        ({"share": 1.5}, "share: should be less than or equal to 1 (got 1.5)"),
        ({"share": float("nan")}, "share: should be "),
        ({"leaf": {"sizes": "2,x"}}, "leaf.sizes.1: should be a valid integer"),
    ],
)
def test_an_error_is_one_line_that_names_the_path(tree: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError) as error:
        decode(Root, tree)
    assert str(error.value).startswith(told)
    assert "\n" not in str(error.value)


def test_every_error_is_named_and_the_root_too() -> None:
    with pytest.raises(SettingsError, match=r"^run\.share: .*; run\.weight: "):
        decode(Root, {"share": 2, "weight": -1}, root="run")


@pytest.mark.parametrize(
    ("value", "counts"),
    [
        ("3,2,2", (3, 2, 2)),
        ("3, 2 ,2,", (3, 2, 2)),
        ("3", (3,)),
        (3, (3,)),
        ("", ()),
        ([3, 2], (3, 2)),
        ((), ()),
    ],
)
def test_several_values_with_commas(value: Any, counts: tuple[int, ...]) -> None:
    assert decode(Leaf, {"sizes": value}).sizes == counts
    assert decode(Leaf, {"drops": value}).drops == counts


@pytest.mark.parametrize("value", [True, "a,b", "0,1", None, {"a": 1}])
def test_what_is_no_list_of_counts_is_refused(value: Any) -> None:
    with pytest.raises(SettingsError, match="sizes"):
        decode(Leaf, {"sizes": value})


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a=1", {"a": 1}),
        ("a.b=0.5", {"a": {"b": 0.5}}),
        ("a.b.c=text", {"a": {"b": {"c": "text"}}}),
        ("a=none", {"a": None}),
        ("a=None", {"a": None}),
        ("a=null", {"a": None}),
        ("a=true", {"a": True}),
        ("a=[1, 2]", {"a": [1, 2]}),
        ('a={"b": 1}', {"a": {"b": 1}}),
        ('a="none"', {"a": "none"}),
        ("a=x,y", {"a": "x,y"}),
        ("a=b=c", {"a": "b=c"}),
        ("a=", {"a": ""}),
        (" a = x ", {"a": "x"}),
    ],
)
def test_an_assignment_is_a_tree(text: str, tree: dict[str, Any]) -> None:
    assert assignment(text) == tree


@pytest.mark.parametrize("text", ["", "a", "=1", "a..b=1", ".a=1", "a.=1"])
def test_what_is_no_assignment_says_what_one_is(text: str) -> None:
    with pytest.raises(SettingsError, match="write key=value"):
        assignment(text)


@some
@given(st.lists(st.text("abc_", min_size=1), min_size=1, max_size=4), st.integers())
def test_an_assignment_reaches_any_depth(keys: list[str], value: int) -> None:
    tree: Any = assignment(f"{'.'.join(keys)}={value}")
    for key in keys:
        assert list(tree) == [key]
        tree = tree[key]
    assert tree == value


@some
@given(TREES, TREES)
def test_what_is_laid_over_wins_and_the_rest_stays(
    base: dict[str, Any], override: dict[str, Any]
) -> None:
    kept = copy.deepcopy((base, override))
    result = merged(base, override)
    assert (base, override) == kept, "neither tree is changed"
    assert merged(base, {}) == base
    assert merged({}, override) == override
    assert merged(result, override) == result
    for path, value in _leaves(override):
        assert _at(result, path) == value
    above = [path for path, _ in _leaves(override)]
    for path, value in _leaves(base):
        if not any(path[: len(one)] == one or one[: len(path)] == path for one in above):
            assert _at(result, path) == value


def test_choosing_another_name_drops_the_settings_of_the_old_one() -> None:
    base = {"method": {"name": "lucir", "ranking": 2}, "seed": 1}
    assert merged(base, {"method": {"name": "lucir", "margin": 1}})["method"] == {
        "name": "lucir",
        "ranking": 2,
        "margin": 1,
    }
    assert merged(base, {"method": {"name": "finetune"}})["method"] == {"name": "finetune"}
    assert merged(base, {"method": {"margin": 1}})["method"]["ranking"] == 2


@some
@given(TREES, TREES)
def test_trees_differ_where_they_say_so(one: dict[str, Any], other: dict[str, Any]) -> None:
    found = list(differences(one, other))
    assert bool(found) == (one != other)
    assert [(path, new, old) for path, old, new in found] == list(differences(other, one)) or {
        (path, repr(new), repr(old)) for path, old, new in found
    } == {(path, repr(old), repr(new)) for path, old, new in differences(other, one)}


def test_differences_have_paths_and_both_values() -> None:
    one = {"a": {"b": 1, "c": 2}, "d": [1]}
    other = {"a": {"b": 3, "e": 5}, "d": [1]}
    assert list(differences(one, other)) == [
        ("a.b", 1, 3),
        ("a.c", 2, "absent"),
        ("a.e", "absent", 5),
    ]


def test_only_what_is_open_is_filled() -> None:
    assert filled(Leaf(count=3), Leaf(rate=0.1, count=7)) == Leaf(count=3, rate=0.1)
    assert filled(Leaf(rate=0.2), Leaf(rate=0.1)) == Leaf(rate=0.2)


def test_the_nearest_name_or_all_of_them() -> None:
    assert nearest("epoch", ["epochs", "batch"]) == "; did you mean 'epochs'?"
    assert nearest("zzz", ["epochs", "batch"]) == "; known: batch, epochs"
    assert nearest("zzz", []) == "; there is none"


def _leaves(tree: dict[str, Any], path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    found = []
    for key, value in tree.items():
        inner = _leaves(value, (*path, key)) if isinstance(value, dict) else []
        found += inner or ([((*path, key), value)] if not isinstance(value, dict) else [])
    return found


def _at(tree: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree
