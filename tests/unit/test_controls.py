"""The controls of DCE: the classification loss weighed without looking at any neighbour."""

import dataclasses

import made
import pytest
import torch

from remanence.effects.base import Effect
from remanence.effects.halved import Halved
from remanence.effects.halved_new import HalvedNew


def seen(effect: Effect, session, is_main=True):
    """The losses 1, 2, 3, ... of a batch of all images, as the effect shows them."""
    lens = effect.lens()
    epoch = made.epoch(session.pool, is_main=is_main, batch_size=len(session.pool))
    (batch,) = epoch.batches()
    losses = torch.arange(1.0, len(session.pool) + 1, requires_grad=True)
    lens.begin(session)
    lens.begin_epoch(epoch, session)
    lens.before(batch, session)
    shown = lens.classification(losses, batch, session)
    (slope,) = torch.autograd.grad(shown.sum(), losses)
    torch.testing.assert_close(shown, slope * losses)
    return batch.labels, slope


@pytest.mark.parametrize("weight", [0.5, 0.25, 1.0])
def test_halved_weighs_all_images_alike(weight):
    _, slope = seen(Halved(weight=weight), made.session())
    assert (slope == weight).all()


@pytest.mark.parametrize("weight", [0.5, 0.25])
def test_halved_new_weighs_images_of_new_classes_only(weight):
    labels, slope = seen(HalvedNew(weight=weight), made.session(old=3))
    assert slope.tolist() == [weight if label >= 3 else 1.0 for label in labels]


@pytest.mark.parametrize("effect", [Halved(), HalvedNew()])
def test_controls_leave_the_base_and_the_finetune_alone(effect):
    session = made.session()
    base = dataclasses.replace(session, teacher=None, increment=0, old_classes=0)
    for slope in (seen(effect, base)[1], seen(effect, session, is_main=False)[1]):
        assert (slope == 1).all()


def test_without_exemplars_both_controls_are_one():
    session = made.session(kept=0)
    assert torch.equal(seen(Halved(), session)[1], seen(HalvedNew(), session)[1])
