"""Streams: published class orders and where they come from, sizes, and relabelled images."""

import dataclasses
import hashlib
import json
from importlib import resources

import made
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from remanence.core.errors import SettingsError
from remanence.core.settings import decode
from remanence.data.base import Images, Splits
from remanence.orders import named_orders
from remanence.stream import (
    StreamPlan,
    class_order,
    group_sizes,
    make_stream,
    order_hash,
)

B50 = {1: [50], 2: [25] * 2, 5: [10] * 5, 10: [5] * 10, 25: [2] * 25, 50: [1] * 50}
HASHES = {
    "icarl1993": "62e36f48cf4f",
    "lucir1993": "997a048a5344",
    "podnet2": "920202d4b4ea",
    "podnet3": "208ddd64ac86",
    "imagenet1993": "305571fb8fde",
    "imagenet_sub_ucir": "86a5ba007092",
    "imagenet_sub_paper": "4062cd826c14",
    "imagenet_sub_alpha": "997a048a5344",
}


def shuffled(count):
    """RandomState(1993).shuffle(arange(count)), numpy's old generator."""
    order = np.arange(count)
    np.random.RandomState(1993).shuffle(order)
    return order.tolist()


def test_lucir1993_is_a_shuffle_with_that_seed():
    assert named_orders()["lucir1993"] == shuffled(100)


def test_icarl1993_is_the_same_shuffle_after_the_images_of_each_class_were_shuffled():
    generator, order = np.random.RandomState(1993), np.arange(100)
    for _ in range(100):
        generator.shuffle(np.arange(500))
    generator.shuffle(order)
    assert named_orders()["icarl1993"] == order.tolist()


def test_imagenet1993_is_the_shuffle_of_a_thousand():
    assert named_orders()["imagenet1993"] == shuffled(1000)


def test_imagenet_sub_as_learned_is_the_shuffle_of_a_sorted_choice():
    chosen = np.sort(np.random.RandomState(1993).choice(1000, 100, replace=False))
    assert named_orders()["imagenet_sub_ucir"] == chosen[shuffled(100)].tolist()
    assert sorted(named_orders()["imagenet_sub_paper"]) == chosen.tolist()


def test_imagenet_sub_by_the_wording_and_by_the_alphabet():
    assert named_orders()["imagenet_sub_paper"] == shuffled(1000)[:100]
    assert named_orders()["imagenet_sub_alpha"] == shuffled(100)


def test_every_named_order_names_each_class_once_and_is_pinned():
    orders = named_orders()
    assert set(orders) == set(HASHES)
    for name, order in orders.items():
        assert len(set(order)) == len(order)
        full = list(range(1000 if name == "imagenet1993" else 100))
        assert name in ("imagenet_sub_ucir", "imagenet_sub_paper") or sorted(order) == full
        text = ",".join(str(class_id) for class_id in order)
        assert hashlib.sha256(text.encode()).hexdigest()[:12] == order_hash(order) == HASHES[name]


def test_every_named_order_says_whose_it_is():
    text = resources.files("remanence").joinpath("orders.json").read_text(encoding="utf-8")
    assert all(entry["about"] for entry in json.loads(text).values())


def test_orders_are_told_apart_by_their_hash():
    assert order_hash([1, 12]) != order_hash([11, 2]) != order_hash([2, 11])


@made.examples
@given(seed=st.integers(0, 10**6), classes=st.integers(1, 40))
def test_random_orders_are_permutations_and_repeat(seed, classes):
    order = class_order(f"random:{seed}", classes)
    assert sorted(order) == list(range(classes))
    assert order == class_order(f"random:{seed}", classes)


def test_random_orders_differ_by_their_seed_and_are_pinned():
    assert class_order("random:1", 20) != class_order("random:2", 20)
    assert class_order("random:1", 8) == [5, 0, 1, 4, 2, 6, 3, 7]


def test_natural_and_own_orders():
    assert class_order("natural", 4) == [0, 1, 2, 3]
    assert class_order([3, 1], 4) == [3, 1]
    assert decode(StreamPlan, {"order": [3, 1]}).order == (3, 1)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([0, 2, 2], "class 2 is seen twice"),
        ([0, 4], "there is no class 4; the data have 0 to 3"),
        ("icarl1993", "the data have 0 to 3"),
        ("lucir1999", "did you mean 'lucir1993'"),
        ("random:", "no order is called 'random:'"),
        ("random:x", "no order is called 'random:x'"),
        ("random:-1", "no order is called 'random:-1'"),
        ("random:²", "no order is called 'random:²'"),
    ],
)
def test_an_order_that_cannot_be_is_refused(order, message):
    with pytest.raises(SettingsError, match=f"stream.order: .*{message}"):
        class_order(order, 4)


# Sizes


@pytest.mark.parametrize("steps", B50)
def test_half_of_the_classes_first_then_the_rest_in_equal_steps(steps):
    later = B50[steps]
    assert group_sizes(StreamPlan(base=50, increment=later[0]), 100) == [50, *later]
    tenfold = StreamPlan(base=500, increment=10 * later[0])
    assert group_sizes(tenfold, 1000) == [500, *(10 * size for size in later)]


@pytest.mark.parametrize(("base", "increments"), [(10, 9), (20, 8)])
def test_smaller_bases(base, increments):
    assert group_sizes(StreamPlan(base=base, increment=10), 100) == [base] + [10] * increments


@made.examples
@given(classes=st.integers(1, 60), increment=st.integers(1, 60), data=st.data())
def test_only_the_last_increment_may_be_smaller(classes, increment, data):
    base = data.draw(st.integers(1, classes))
    first, *later = group_sizes(StreamPlan(base=base, increment=increment), classes)
    assert first == base and first + sum(later) == classes
    assert all(size == increment for size in later[:-1])
    assert all(1 <= size <= increment for size in later)


def test_own_sizes_replace_base_and_increment():
    assert group_sizes(StreamPlan(base=5, increment=1, sizes=(3, 1, 2)), 10) == [3, 1, 2]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (StreamPlan(sizes=(6, 5)), "stream.sizes: they add up to 11, but there are 10 classes"),
        (StreamPlan(base=11, increment=1), "stream.base: 11 is more than all 10 classes"),
    ],
)
def test_more_classes_than_there_are_is_refused(plan, message):
    with pytest.raises(SettingsError, match=message):
        group_sizes(plan, 10)


# Images


def splits():
    """Three training images and one for testing of each of five classes, mixed."""
    labels = [2, 0, 4, 1, 3] * 3
    names = tuple(f"class {number}" for number in range(5))
    return Splits(made.images(labels), made.images([4, 3, 2, 1, 0], seed=5), names)


def test_labels_become_places_in_the_order_and_no_image_changes():
    source, order = splits(), (4, 0, 3, 2)
    stream = make_stream(source, StreamPlan(order=order, sizes=(2, 1, 1)))
    assert stream.class_names == ("class 4", "class 0", "class 3", "class 2")
    assert stream.order_hash == order_hash(order)
    ranges = [(one.number, one.first_class, one.classes) for one in stream.increments]
    assert ranges == [(0, 0, 2), (1, 2, 3), (2, 3, 4)]
    for increment in stream.increments:
        members = range(increment.first_class, increment.classes)
        for found, given_ in ((increment.train, source.train), (increment.test, source.test)):
            assert found.labels.unique().tolist() == list(members)
            for label in members:
                expected = given_.pixels[given_.labels == order[label]]
                assert torch.equal(found.pixels[found.labels == label], expected)


def test_classes_beyond_the_sizes_never_arrive():
    stream = make_stream(splits(), StreamPlan(order="natural", sizes=(2, 1)))
    assert stream.class_names == ("class 0", "class 1", "class 2")
    assert sum(len(one.train) for one in stream.increments) == 9


def test_a_class_without_training_images_is_named():
    source = splits()
    train = Images(source.train.pixels[:4], source.train.labels[:4])  # nothing of class 3
    with pytest.raises(SettingsError, match="class 'class 3' has no training image"):
        make_stream(
            dataclasses.replace(source, train=train),
            StreamPlan(order="random:1", base=2, increment=2),
        )
