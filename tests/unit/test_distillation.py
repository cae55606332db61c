"""iCaRL and LwF: their losses against definitions image by image, and what goes with each form."""

import dataclasses
import json
import math
from types import SimpleNamespace
from typing import ClassVar

import made
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from remanence import augment
from remanence.core.errors import SettingsError
from remanence.data.cifar100 import Cifar100
from remanence.data.digits import Digits
from remanence.effects.colliding import Colliding
from remanence.effects.halved import Halved
from remanence.effects.momentum import Momentum
from remanence.heads import LinearHead
from remanence.losses import distillation, soft_cross_entropy
from remanence.memory import Memory
from remanence.methods.finetune import Finetune
from remanence.methods.icarl import Icarl
from remanence.methods.lwf import Lwf
from remanence.network import Output

SOFT = {"icarl": Icarl(), "lwf": Lwf()}
SIGMOID = Icarl(form="sigmoid")


class Photos(Cifar100):
    """Data at the scale of ImageNet, with the residual network for it."""

    scale: ClassVar = "imagenet_sub"
    backbone: ClassVar = "resnet18"
    augmentation: ClassVar = "photos"


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=made.random(seed), dtype=torch.float64)


def softmax(row, temperature):
    powers = [math.exp(z / temperature) for z in row]
    return [power / sum(powers) for power in powers]


def divergence(logits, old_logits, temperature):
    """Mean over images of sum q log(q / p); p is over the classes that the teacher knows."""
    summed = 0.0
    for row, old in zip(logits.tolist(), old_logits.tolist(), strict=True):
        p, q = softmax(row[: len(old)], temperature), softmax(old, temperature)
        summed += sum(b * math.log(b / a) for a, b in zip(p, q, strict=True))
    return summed / len(logits)


def sigmoid_loss(logits, old_logits, labels, units=None):
    """-t log g - (1 - t) log(1 - g): old t are what the teacher says, new ones are 0 or 1."""
    terms = []
    for row, old, label in zip(logits.tolist(), old_logits.tolist(), labels.tolist(), strict=True):
        for unit, z in enumerate(row):
            g = 1 / (1 + math.exp(-z))
            t = 1 / (1 + math.exp(-old[unit])) if unit < len(old) else float(unit == label)
            terms.append(-t * math.log(g) - (1 - t) * math.log(1 - g))
    return sum(terms) / len(labels) / (units or logits.shape[1])


def as_output(logits):
    return Output(logits, logits, logits)


def total(method, logits, old_logits, labels):
    """What a method minimises, with a session to match."""
    old, classes = old_logits.shape[1], logits.shape[1]
    session = dataclasses.replace(made.session(), old_classes=old, classes=classes)
    losses = method.classify(as_output(logits), labels, session)
    assert losses.shape == labels.shape
    if old == 0:
        return float(losses.mean())
    batch = SimpleNamespace(labels=labels)
    terms = method.preserve(as_output(logits), as_output(old_logits), batch, session)
    return method.weight(session) * float(losses.mean()) + float(sum(terms.values()))


sizes = {"count": st.integers(1, 5), "old": st.integers(1, 4), "new": st.integers(1, 4)}


@made.examples
@given(**sizes, temperature=st.floats(0.5, 4), seed=st.integers(0, 99))
def test_distillation_is_a_divergence_and_soft_cross_entropy_descends_alike(
    count, old, new, temperature, seed
):
    logits, wanted = noise(count, old + new, seed=seed), noise(count, old, seed=seed + 100)
    logits.requires_grad_()
    kept = distillation(logits, wanted, temperature)
    assert float(kept.detach()) == pytest.approx(
        temperature**2 * divergence(logits, wanted, temperature)
    )
    other = soft_cross_entropy(logits, wanted, temperature)
    entropy = -sum(q * math.log(q) for row in wanted.tolist() for q in softmax(row, temperature))
    expected = divergence(logits, wanted, temperature) + entropy / count
    assert float(other.detach()) == pytest.approx(expected)
    (one,) = torch.autograd.grad(kept / temperature**2, logits)
    (two,) = torch.autograd.grad(other, logits)
    torch.testing.assert_close(one, two)
    assert torch.equal(one[:, old:], torch.zeros(count, new, dtype=one.dtype))


@pytest.mark.parametrize("method", SOFT.values(), ids=SOFT)
def test_softmax_form_is_cross_entropy_over_all_and_a_divergence_of_weight_one(method):
    logits, old_logits, labels = noise(4, 5), noise(4, 3, seed=1), torch.tensor([0, 4, 3, 3])
    entropy = -sum(
        math.log(softmax(row, 1)[label]) for row, label in zip(logits.tolist(), labels, strict=True)
    )
    expected = entropy / 4 + divergence(logits, old_logits, 2.0)
    assert total(method, logits, old_logits, labels) == pytest.approx(expected)
    heavier = dataclasses.replace(method, distillation=0.5, temperature=4.0)
    expected = entropy / 4 + 8 * divergence(logits, old_logits, 4.0)
    assert total(heavier, logits, old_logits, labels) == pytest.approx(expected)


@made.examples
@given(**sizes, units=st.sampled_from([None, 100]), data=st.data())
def test_sigmoid_form_is_the_mean_over_all_outputs(count, old, new, units, data):
    labels = data.draw(st.lists(st.integers(0, old + new - 1), min_size=count, max_size=count))
    labels = torch.tensor(labels)
    logits, old_logits = noise(count, old + new, seed=old), noise(count, old, seed=new)
    method = dataclasses.replace(SIGMOID, units=units)
    expected = sigmoid_loss(logits, old_logits, labels, units)
    assert total(method, logits, old_logits, labels) == pytest.approx(expected)
    in_base = sigmoid_loss(logits, noise(count, 0), labels, units)
    assert total(method, logits, noise(count, 0), labels) == pytest.approx(in_base)


def test_an_exemplar_is_taught_by_the_teacher_and_not_by_its_label():
    logits, old_logits = noise(3, 5), noise(3, 3, seed=1)
    losses = [total(SIGMOID, logits, old_logits, torch.tensor(row)) for row in ([0] * 3, [2] * 3)]
    assert losses[0] == pytest.approx(losses[1])
    assert total(SIGMOID, logits, old_logits, torch.tensor([3] * 3)) != pytest.approx(losses[0])


@pytest.mark.parametrize("name", ["icarl", "lwf", "sigmoid"])
def test_a_step_of_an_increment_descends_the_sum(name, tmp_path, monkeypatch):
    """The teacher speaks in eval mode, and every image of the pool counts in both terms."""
    monkeypatch.setitem(augment.NAMED, "still", made.STILL)
    method = {"name": "icarl", "form": "sigmoid"} if name == "sigmoid" else {"name": name}
    training = {"epochs": 1, "batch": 100, "augmentation": "still", "rate": 0.5}
    learner = made.learner({"method": method, "training": training})
    assert isinstance(learner.network.head, LinearHead)
    expected = []
    for increment in (made.increment(0, 0, 3), made.increment(1, 3, 5)):
        session = learner.meet(increment)
        clean = session.pool.test_view(session.pool.everything)
        logits, labels = session.network.train()(clean).logits.double(), session.pool.labels
        known = session.teacher(clean).logits.double() if session.teacher else logits[:, :0]
        if name == "sigmoid":
            expected.append(sigmoid_loss(logits, known, labels))
        else:
            rows = zip(logits.tolist(), labels.tolist(), strict=True)
            entropy = -sum(math.log(softmax(row, 1)[label]) for row, label in rows) / len(labels)
            expected.append(entropy + (divergence(logits, known, 2.0) if session.teacher else 0))
        made.fit(learner, session, tmp_path)
        learner.close(session)
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["loss"] for line in log] == pytest.approx(expected, abs=2e-5)


def test_the_first_rule_is_the_one_that_is_published():
    assert list(Icarl().rules()) == ["nme", "cnn"]
    assert list(Lwf().rules()) == ["cnn", "nme"]


def test_the_original_form_keeps_its_own_schedule():
    usual, original = Icarl().training(Cifar100()), SIGMOID.training(Cifar100())
    assert usual == Lwf().training(Cifar100())
    assert (usual.rate, usual.epochs, usual.augmentation) == (0.1, 160, "cifar_lucir")
    assert (original.augmentation, original.weight_decay) == ("cifar_icarl", 1e-5)
    rates = [original.rate_at(epoch, 70) for epoch in (0, 48, 49, 62, 63, 69)]
    assert rates == pytest.approx([2.0, 2.0, 0.4, 0.4, 0.08, 0.08])
    photos = SIGMOID.training(Photos())
    rates = [photos.rate_at(epoch, 60) for epoch in (19, 20, 29, 30, 40, 50)]
    assert rates == pytest.approx([2.0, 0.4, 0.4, 0.08, 0.016, 0.0032])
    assert photos.augmentation == "photos"


@pytest.mark.parametrize("method", [Icarl(), SIGMOID, Lwf(), Finetune()])
def test_residual_networks_end_with_their_usual_relu(method):
    assert method.backbone(Cifar100()) == {"name": "resnet32", "last_relu": True}
    assert method.backbone(Photos()) == {"name": "resnet18", "last_relu": True}
    assert method.backbone(Digits()) == {"name": "convnet"}


def test_a_cosine_head_has_signed_features():
    assert Finetune(head_kind="cosine").backbone(Cifar100()) == {"name": "resnet32"}


def test_sigmoid_outputs_are_no_probabilities_to_collide():
    increments = [made.increment(0, 0, 3), made.increment(1, 3, 5)]
    chain = (Halved(), Momentum())
    SIGMOID.check(increments, chain, Memory())
    Icarl().check(increments, (Colliding(),), Memory())
    with pytest.raises(SettingsError, match=r"^method.form: .*method.form=softmax") as error:
        SIGMOID.check(increments, (*chain, Colliding()), Memory())
    assert "\n" not in str(error.value)


def test_the_loss_is_averaged_over_as_many_outputs_as_there_are_at_least():
    increments = [made.increment(0, 0, 3), made.increment(1, 3, 5)]
    dataclasses.replace(SIGMOID, units=5).check(increments, (), Memory())
    with pytest.raises(SettingsError, match=r"^method.units: .*5 classes"):
        dataclasses.replace(SIGMOID, units=4).check(increments, (), Memory())
