"""Effects change what is seen, and nothing else: not the distillation, not the order of images."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from short_runs import KEEP, OTHER_WAYS, PLAIN, WORKING, Case, Trained, case, refusal

from remanence.core import choices
from remanence.methods.finetune import Finetune

READING_ONLY = [
    name
    for name in choices.names("effects")
    if not choices.choose("effects", name).acts_in_training
]
CHAINED = [one for one in (*PLAIN, *OTHER_WAYS) if one.experiment.effects]
READ = [
    (method, keep, effect)
    for method, keep in WORKING
    for effect in READING_ONLY
    if refusal(case(method, effect, keep)) is None
]
each_method = pytest.mark.parametrize(("method", "keep"), WORKING)
each_chain = pytest.mark.parametrize("chained", CHAINED, ids=lambda one: one.name)


@each_chain
def test_no_chain_changes_what_preserve_sees(
    chained: Case, trained: Callable[[Case], Trained]
) -> None:
    """At the first step after the base, training has not yet gone another way."""
    bare, seen = (trained(one).steps[0] for one in (chained.bare, chained))
    assert bare.increment == 1
    assert torch.equal(bare.images, seen.images)
    assert len(bare.raw) == len(seen.raw) > 0
    assert all(torch.equal(*pair) for pair in zip(bare.raw, seen.raw, strict=True))


@each_chain
def test_no_chain_changes_the_order_of_images(
    chained: Case, trained: Callable[[Case], Trained]
) -> None:
    bare, seen = (trained(one).steps for one in (chained.bare, chained))
    assert [step.epoch for step in bare] == [step.epoch for step in seen]
    main = [pair for pair in zip(bare, seen, strict=True) if pair[0].epoch[1] == "main"]
    assert all(torch.equal(one.indices, other.indices) for one, other in main)
    # The views too, while the exemplars in the pool are still the same ones.
    first = [pair for pair in main if pair[0].increment == 1]
    assert all(torch.equal(one.images, other.images) for one, other in first)


@pytest.mark.parametrize(("method", "keep", "effect"), READ)
def test_an_effect_that_only_reads_leaves_training_as_it_is(
    method: str, keep: int, effect: str, trained: Callable[[Case], Trained]
) -> None:
    bare, chained = (trained(case(method, one, keep)) for one in ("", effect))
    assert len(bare.steps) == len(chained.steps)
    for one, other in zip(bare.steps, chained.steps, strict=True):
        assert all(torch.equal(*pair) for pair in zip(one.raw, other.raw, strict=True))
    for one, other in zip(bare.records, chained.records, strict=True):
        assert one.kept == other.kept
        assert one.readings.items() <= other.readings.items()


@each_method
def test_what_acts_in_training_makes_a_difference(
    method: str, keep: int, trained: Callable[[Case], Trained]
) -> None:
    """Without this, the tests above would pass if effects did nothing at all."""
    bare, chained = (trained(case(method, one, keep)).steps[-1] for one in ("", "colliding"))
    assert not all(torch.equal(*pair) for pair in zip(bare.raw, chained.raw, strict=True))


@pytest.mark.parametrize("keep", [keep for keep in KEEP if keep])
def test_nearest_mean_chosen_by_the_user_is_the_rule_of_the_methods(
    keep: int, trained: Callable[[Case], Trained]
) -> None:
    """It replaces the logits, so after the network's own rule it is the method's nearest mean."""
    assert "nme" in Finetune().rules()
    for record in trained(case("finetune", "nearest_mean", keep)).records:
        assert list(record.readings) == ["cnn+nearest_mean", "cnn", "nme"]
        assert record.readings["cnn+nearest_mean"] == record.readings["nme"]
