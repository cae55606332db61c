"""A network that is held says the same with batch norm folded into its convolutions."""

import copy

import pytest
import torch
from made import random

from remanence.backbones.base import Backbone, Trunk
from remanence.backbones.resnet18 import Resnet18
from remanence.backbones.resnet32 import Resnet32
from remanence.backbones.resnet32_rebuffi import Resnet32Rebuffi
from remanence.heads import CosineHead
from remanence.kernels import folded
from remanence.kernels.library import library
from remanence.kernels.norm import fuse, hold
from remanence.network import Network, autocast

BACKBONES = [Resnet32(), Resnet32(last_relu=True), Resnet32Rebuffi(), Resnet18()]
BACKBONES += [Resnet32(filter_scales=True)]
WITHIN = {"float32": 1e-5, "bfloat16": 0.05}


@pytest.fixture(autouse=True, scope="module")
def compiler(own_cache: None) -> None:
    if library() is None:
        pytest.skip("there is no C compiler")


def images(seed: int = 0) -> torch.Tensor:
    made = torch.randn(8, 3, 32, 32, generator=random(seed))
    return made.to(memory_format=torch.channels_last)


def trunk_of(backbone: Backbone) -> Trunk:
    """One that has seen images, in eval mode, its norms fused."""
    torch.manual_seed(1)
    trunk = backbone.build(3).to(memory_format=torch.channels_last)
    trunk.after_base()
    with torch.no_grad():
        for name, parameter in trunk.named_parameters():
            if "bn" in name or name.endswith("scale"):
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=random(len(name))))
        for seed in range(5):
            trunk.train()(images(seed))
    fuse(trunk, True)
    return trunk.eval()


@pytest.mark.parametrize("precision", WITHIN)
@pytest.mark.parametrize("backbone", BACKBONES, ids=str)
def test_features_and_maps_are_the_same(backbone: Backbone, precision: str) -> None:
    trunk = trunk_of(backbone)
    held = copy.deepcopy(trunk)
    hold(held)
    with torch.no_grad(), autocast(torch.device("cpu"), precision):
        expected, found = trunk(images(9)), held(images(9))
    for one, other in zip(
        [expected.features, *expected.maps], [found.features, *found.maps], strict=True
    ):
        assert other.dtype == one.dtype
        assert float((one - other).float().norm() / one.float().norm()) < WITHIN[precision]


def test_only_the_teacher_is_folded_and_only_without_gradient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []
    plain = folded.Folded.__call__
    monkeypatch.setattr(
        folded.Folded, "__call__", lambda self, *rest: calls.append(1) or plain(self, *rest)
    )
    network = Network(Resnet32().build(3), CosineHead(64), kernels="fused")
    network.head.grow(network.head.fresh_rows(3))
    teacher = network.frozen()
    with torch.no_grad():
        network.train()(images())
        network.eval()(images())
    leaf = images().requires_grad_()
    (slope,) = torch.autograd.grad(teacher(leaf).features.sum(), [leaf])
    assert not calls and slope.abs().sum() > 0
    with torch.no_grad():
        teacher(images())
    assert len(calls) == 33  # 31 convolutions of 3 x 3, and two on the way past a block


def test_plain_kernels_fold_nothing() -> None:
    teacher = Network(Resnet32().build(3), CosineHead(64), kernels="plain").frozen()
    assert not any(getattr(module, "is_held", False) for module in teacher.modules())


def test_a_network_that_was_held_is_saved_like_any_other() -> None:
    trunk = trunk_of(Resnet32())
    keys = trunk.state_dict().keys()
    hold(trunk)
    with torch.no_grad():
        trunk(images())
    assert trunk.state_dict().keys() == keys
