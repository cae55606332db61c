"""Every protocol of the paper: sizes, orders and budgets do what they say."""

from __future__ import annotations

from itertools import accumulate, pairwise

import made
import pytest
import torch

from remanence.data.base import Images, Splits
from remanence.engine.run import check
from remanence.experiment import Experiment
from remanence.orders import named_orders
from remanence.stream import make_stream

CLASSES, EACH = 100, 22
ORDERS = ["icarl1993", "lucir1993", "podnet2", "podnet3", "natural", "random:7"]
SIZES = {1: 50, 2: 25, 5: 10, 10: 5, 25: 2, 50: 1}
BUDGETS = [{"per_class": kept} for kept in (0, 5, 10, 20)] + [{"total": 2000}, {"total": 500}]


@pytest.fixture(scope="module")
def splits() -> Splits:
    """A hundred classes; a pixel says which image it is."""
    labels = torch.arange(CLASSES).repeat(EACH)
    pixels = (torch.arange(len(labels)) % 251).to(torch.uint8).view(-1, 1, 1, 1).expand(-1, 3, 8, 8)
    train = Images(pixels.clone(), labels)
    test = Images(pixels[:CLASSES].clone(), labels[:CLASSES])
    return Splits(train, test, tuple(f"class {label}" for label in range(CLASSES)))


def experiment(method, stream, memory, effects="colliding,momentum"):
    tree = {"data": "cifar100", "method": method, "effects": effects}
    return Experiment.of(tree, {"stream": stream, "memory": memory})


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("steps", SIZES)
def test_half_of_the_classes_then_equal_increments(splits, order, steps):
    resolved = experiment(
        "lucir", {"order": order, "base": 50, "increment": SIZES[steps]}, BUDGETS[1]
    ).resolved()
    increments = make_stream(splits, resolved.stream).increments
    assert [len(one.names) for one in increments] == [50, *[SIZES[steps]] * steps]
    ids = named_orders().get(order)
    names = [name for one in increments for name in one.names]
    assert sorted(names) == sorted(splits.class_names)
    if ids:
        assert names == [f"class {one}" for one in ids]
    for one in increments:
        assert one.counts == [EACH] * len(one.names)
        assert set(one.test.labels.tolist()) == set(range(one.first_class, one.classes))


@pytest.mark.parametrize("base", [10, 20])
def test_small_bases(splits, base):
    plan = experiment("lucir", {"base": base, "increment": 10}, BUDGETS[3]).resolved().stream
    increments = make_stream(splits, plan).increments
    assert [len(one.names) for one in increments] == [base] + [10] * ((100 - base) // 10)


@pytest.mark.parametrize("memory", BUDGETS, ids=str)
@pytest.mark.parametrize("steps", SIZES)
def test_every_budget_goes_with_every_number_of_increments(splits, steps, memory):
    """With both effects over the two baselines of the paper, and with what needs exemplars."""
    needy = ["bic", "mnemonics", "tpcil"] if memory != {"per_class": 0} else []
    for method in ["lucir", "podnet", "icarl", "lwf", "finetune", *needy]:
        stream = {"order": "icarl1993", "base": 50, "increment": SIZES[steps]}
        resolved = experiment(method, stream, memory).resolved()
        check(resolved, make_stream(splits, resolved.stream))


@pytest.mark.parametrize(
    ("memory", "kept"),
    [({"per_class": 5}, [250, 300, 350, 400, 450, 500]), ({"total": 333}, [300, 300, 280, 320])],
    ids=["5 of each", "333 in all"],
)
def test_budgets_are_kept_through_a_whole_protocol(splits, memory, kept):
    """R of each grows with the classes; a total is shared equally, and never exceeded."""
    learning = made.learner({"memory": memory, "stream": {"base": 50, "increment": 10}})
    plan = experiment("lucir", {"order": "lucir1993", "base": 50, "increment": 10}, memory)
    increments = make_stream(splits, plan.resolved().stream).increments
    for increment, wanted in zip(increments, kept, strict=False):
        learning.close(learning.meet(increment))
        counts = torch.bincount(learning.exemplars.labels, minlength=increment.classes)
        assert len(learning.exemplars) == wanted
        assert counts.unique().tolist() == [wanted // increment.classes]


def test_the_whole_of_imagenet_is_learned_in_its_published_increments():
    for steps, size in ((5, 100), (10, 50), (25, 20), (50, 10)):
        data = {"data": {"name": "imagenet"}, "stream": {"base": 500, "increment": size}}
        plan = Experiment.of(data).resolved().stream
        assert plan.order == "imagenet1993"
        ends = list(accumulate([plan.base or 0, *[plan.increment or 0] * steps]))
        assert ends[-1] == 1000
        assert {after - before for before, after in pairwise(ends)} == {size}
