"""What moves in PODNet's two stages, at which rate, and what is kept after them."""

import dataclasses
import math
from typing import ClassVar

import made
import pytest
import torch

from remanence.data.cifar100 import Cifar100
from remanence.data.digits import Digits
from remanence.experiment import Experiment
from remanence.methods.podnet import Podnet


class Subset(Cifar100):
    """Data at the scale of ImageNet-Sub."""

    scale: ClassVar = "imagenet_sub"


class Photos(Cifar100):
    """Data at the scale of ImageNet."""

    scale: ClassVar = "imagenet_full"


def second_session(tmp_path, keep=2, **method):
    """Increment 1 with weight decay: the learner, its weights before, and after every step."""
    learner = made.learner(
        {
            "method": {"name": "podnet", "proxies": 3, "finetune_epochs": 3, **method},
            "training": {"weight_decay": 0.1, "rate": 0.5},
            "memory": {"per_class": keep},
        }
    )
    base = learner.meet(made.increment(0, 0, 3))
    assert len(learner.experiment.method.stages(base)) == 1
    made.fit(learner, base, tmp_path)
    learner.close(base)
    session = learner.meet(made.increment(1, 3, 5))
    start = {name: value.clone() for name, value in learner.network.state_dict().items()}
    states = made.fit(learner, session, tmp_path)
    stages = [
        [state["network"] for state in states if state["position"][0] == number]
        for number in (0, 1)
    ]
    return learner, session, start, stages


def changed(before, after):
    return {name for name, value in after.items() if not torch.equal(value, before[name])}


def test_old_proxies_stay_bit_identical_in_the_main_stage_and_all_else_moves(tmp_path):
    _, _, start, (main, _) = second_session(tmp_path)
    assert changed(start, main[-1]) == set(start) - {"head.weights.0"}
    assert "head.scale" in start


@pytest.mark.parametrize("freeze_bn", [False, True])
def test_the_finetune_trains_all_proxies_and_no_scale(freeze_bn, tmp_path):
    """The statistics of batch norm go on moving, as in the published code, unless frozen."""
    _, _, _, (main, balanced) = second_session(tmp_path, freeze_bn=freeze_bn)
    statistics = {name for name in main[-1] if "running" in name or "num_batches" in name}
    proxies = {"head.weights.0", "head.weights.1"}
    expected = proxies if freeze_bn else proxies | statistics
    assert changed(main[-1], balanced[-1]) == expected
    assert len(balanced) == 3 * math.ceil(5 * 2 / 8)  # epochs of 2 images of each of 5 classes


def test_nothing_kept_is_nothing_to_finetune_on(tmp_path):
    learner, session, _, (main, balanced) = second_session(tmp_path, keep=0)
    assert main and not balanced
    assert [stage.name for stage in learner.experiment.method.stages(session)] == ["main"]


def test_what_is_kept_is_chosen_by_the_finetuned_network(tmp_path):
    learner, session, _, _ = second_session(tmp_path)
    chosen = session.pool.images[torch.zeros(10, dtype=torch.int64)]
    expected = learner.experiment.method.remember(session)
    learner.close(session, chosen)
    assert torch.equal(learner.exemplars.pixels, expected.pixels)
    assert learner.exemplars.labels.bincount().tolist() == [2] * 5


@pytest.mark.parametrize(("data", "rate"), [(Cifar100(), 0.05), (Photos(), 0.01)])
def test_the_finetune_as_published(data, rate):
    method = Podnet().resolved(data)
    main, balanced = method.stages(made.session())
    assert balanced.epochs == 20
    assert {balanced.training.rate_at(epoch, 20) for epoch in range(20)} == {rate}
    assert balanced.on_exemplars and not balanced.is_main and not balanced.distils
    assert main.clamp == balanced.clamp == 5
    decays = [stage.training.weight_decay for stage in (main, balanced)]
    assert decays == [5e-4, 5e-4]


PUBLISHED = [
    (Cifar100(), 160, 0.1, 128, 5e-4, "cifar_pod"),
    (Subset(), 90, 0.05, 64, 5e-4, "imnet_pod"),
    (Photos(), 90, 0.05, 64, 1e-4, "imnet_pod"),
    (Digits(), 20, 0.1, 32, 5e-4, "digits"),
]


@pytest.mark.parametrize(("data", "epochs", "rate", "batch", "decay", "augmentation"), PUBLISHED)
def test_schedules(data, epochs, rate, batch, decay, augmentation):
    training = Podnet().training(data)
    assert (training.epochs, training.batch) == (epochs, batch)
    assert (training.weight_decay, training.momentum) == (decay, 0.9)
    assert training.augmentation == augmentation
    for epoch in range(epochs):
        cosine = rate / 2 * (1 + math.cos(math.pi * epoch / epochs))
        assert training.rate_at(epoch, epochs) == pytest.approx(cosine)


def test_what_it_is_published_with():
    resolved = Experiment.of({"data": "cifar100", "method": "podnet"}).resolved()
    assert resolved.backbone.name == "resnet32_rebuffi"
    assert Podnet().backbone(Photos()) == {"name": "resnet18"}
    assert Podnet().backbone(Digits()) == {"name": "convnet"}
    for rule, sharpness in [("cnn", 1), ("nme", 3)]:
        method = Podnet(tuned_for=rule).resolved(Cifar100())
        assert method.sharpness == method.head(64).sharpness == sharpness
        assert next(iter(method.rules())) == rule
        assert set(method.rules()) == {"cnn", "nme"}


def test_what_shapes_the_base_is_not_what_comes_after_it():
    method = Podnet().resolved(Cifar100())
    alike = [{"flat": 2.0}, {"spatial_form": "paper"}, {"finetune_epochs": 3}, {"mer": "rerun"}]
    other = [{"nca": "ce"}, {"nca": "paper"}, {"proxies": 5}, {"sharpness": 3.0}]
    for changes in alike:
        changed = dataclasses.replace(method, **changes)
        assert changed.base_signature() == method.base_signature()
    signatures = [dataclasses.replace(method, **changes).base_signature() for changes in other]
    assert all(one != method.base_signature() for one in signatures)
    margins = [Podnet(nca="paper", margin=margin).base_signature() for margin in (0.5, 0.6)]
    assert margins[0] != margins[1]
