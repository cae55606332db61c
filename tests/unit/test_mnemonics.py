"""Mnemonics: which exemplars move, for which images, and what is published."""

import dataclasses
import math

import made
import pytest
import torch

from remanence.core.errors import SettingsError
from remanence.data.cifar100 import Cifar100
from remanence.data.digits import Digits
from remanence.images import Images
from remanence.memory import Memory
from remanence.methods.lucir import Lucir
from remanence.methods.mnemonics import Mnemonics

MOVING = {"exemplar_rate": 0.05, "exemplar_epochs": 2}
BOTH = pytest.mark.parametrize("objective", ["classifier", "means"])


def method(**chosen):
    return Mnemonics(**{**MOVING, **chosen}).resolved(Digits())


def rate_of(objective):
    return 0.05 if objective == "classifier" else 1e4  # gradients of pixels are small


def moved(found, kept):
    """Which exemplars have other pixels than the herded ones."""
    assert torch.equal(found.labels, kept.labels)
    return (found.pixels != kept.pixels).flatten(1).any(1)


@BOTH
def test_exemplars_of_new_classes_move_and_those_of_old_ones_stay(objective):
    session = made.session()
    herded = Lucir().remember(session)
    found = method(objective=objective, exemplar_rate=rate_of(objective)).remember(session)
    assert moved(found, herded).tolist() == [False] * 6 + [True] * 4
    assert found.pixels.nbytes == herded.pixels.nbytes


@BOTH
def test_old_exemplars_move_if_wanted(objective):
    session = made.session()
    herded = Lucir().remember(session)
    chosen = method(objective=objective, refines_old=True, exemplar_rate=rate_of(objective))
    assert moved(chosen.remember(session), herded).all()


def test_none_keeps_what_is_herded():
    session = made.session()
    assert not moved(method(objective="none").remember(session), Lucir().remember(session)).any()


def test_what_is_published_keeps_what_is_herded_too():
    session = made.session()
    published = Mnemonics().resolved(Cifar100())
    assert not moved(published.remember(session), Lucir().remember(session)).any()


def test_each_half_of_the_old_exemplars_moves_for_the_other_half():
    """The second half of a class is shown to the first one, and has not moved by then."""
    session = made.session()
    chosen = method(refines_old=True)
    found = chosen.remember(session).pixels
    darker = session.pool.images.pixels.clone()
    second = [session.pool.new_count + place for place in (1, 3, 5)]  # of two of each old class
    darker[second] //= 2
    images = Images(darker, session.pool.images.labels)
    pool = dataclasses.replace(session.pool, images=images)
    other = chosen.remember(dataclasses.replace(session, pool=pool)).pixels
    first, new = [0, 2, 4], [6, 7, 8, 9]
    assert not torch.equal(found[first], other[first])
    assert torch.equal(found[new], other[new]), "new exemplars are shown new images only"


def test_in_the_base_all_exemplars_are_new():
    session = made.session()
    pool = made.pool([0, 1, 2] * 4)
    base = dataclasses.replace(session, teacher=None, old_classes=0, classes=3, pool=pool)
    base = dataclasses.replace(base, network=made.network(3))
    found = method(refines_old=True).remember(base)
    assert moved(found, Lucir().remember(base)).all()


def test_the_session_is_left_as_it_was():
    session = made.session()
    session.network.train()
    before = {name: value.clone() for name, value in session.network.state_dict().items()}
    found = [method(refines_old=True).remember(session).pixels for _ in range(2)]
    assert torch.equal(*found)
    assert session.network.training
    assert all(parameter.requires_grad for parameter in session.network.parameters())
    after = session.network.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())


def test_settings_as_published():
    found = Mnemonics().resolved(Cifar100())
    assert (found.exemplar_rate, found.exemplar_epochs, found.inner_passes) == (1e-6, 10, 5)
    assert found.inner_rate == pytest.approx(0.01005, abs=1e-6)
    assert (found.finetune_epochs, found.finetune_rate, found.less_forget) == (20, 0.01, 5)
    means = Mnemonics(objective="means").resolved(Cifar100())
    assert (means.exemplar_rate, means.exemplar_epochs) == (1e-5, 1)
    assert Mnemonics(exemplar_epochs=3).resolved(Cifar100()).exemplar_epochs == 3
    assert Mnemonics().base_signature() == Lucir().base_signature()


def test_the_last_stage_is_lucirs_on_the_moved_exemplars(tmp_path):
    chosen = {"name": "mnemonics", "finetune_epochs": 2, **MOVING}
    learner = made.learner({"method": chosen})
    base = learner.meet(made.increment(0, 0, 3))
    made.fit(learner, base, tmp_path)
    herded = Lucir().remember(base)
    learner.close(base)
    assert moved(learner.exemplars, herded).all()
    session = learner.meet(made.increment(1, 3, 5))
    kept = session.pool.images[torch.arange(session.pool.new_count, len(session.pool))]
    assert torch.equal(kept.pixels, learner.exemplars.pixels)
    states = made.fit(learner, session, tmp_path)
    balanced = [state for state in states if state["position"][0] == 1]
    assert len(balanced) == 2 * math.ceil(5 * 2 / 8)


@pytest.mark.parametrize(
    ("chosen", "memory", "line"),
    [
        ({}, Memory(per_class=0), "mnemonics learns the exemplars of a class, but 0"),
        ({}, Memory(total=4), "mnemonics learns the exemplars of a class, but 0"),
        ({"objective": "none"}, Memory(per_class=0), "but 0"),
        ({"refines_old": True}, Memory(per_class=1), "has halves of the exemplars of a class"),
    ],
)
def test_too_few_exemplars_are_refused(chosen, memory, line):
    increments = (made.increment(0, 0, 3), made.increment(1, 3, 5))
    with pytest.raises(SettingsError, match=rf"^memory\.per_class: .*{line}.*; keep at least"):
        method(**chosen).check(increments, (), memory)
    enough = 2 if chosen.get("refines_old") else 1
    method(**chosen).check(increments, (), Memory(per_class=enough))
