"""Norm, shortcut and ReLU against float64: as torch does it, and by the fused kernels."""

import copy
import dataclasses
import itertools
from pathlib import Path

import pytest
import torch
from made import random
from torch import Tensor
from torch.nn import functional as F

from remanence.backbones.resnet32 import Resnet32
from remanence.core import archive
from remanence.kernels.library import library
from remanence.kernels.norm import Norm, fuse
from remanence.network import autocast, in_eval_mode, statistics_untouched

SHAPES = [(5, 16, 6, 6), (3, 32, 5, 5), (4, 64, 3, 3), (2, 48, 7, 7), (3, 128, 4, 4)]
SHAPES += [(9, 64, 33, 33)]  # enough for several threads
CASES = list(itertools.product(SHAPES, (False, True), (False, True)))
WITHIN = {torch.float32: 2e-5, torch.bfloat16: 2e-2}


def values(shape: tuple[int, ...], seed: int, spread: float = 1.0, centre: float = 0.0) -> Tensor:
    made = centre + spread * torch.randn(shape, generator=random(seed), dtype=torch.float64)
    return made.to(torch.bfloat16).double()  # both precisions can hold it


@pytest.fixture(autouse=True, scope="module")
def compiler(own_cache: None) -> None:
    if library() is None:
        pytest.skip("there is no C compiler")


def packed(one: Tensor, dtype: torch.dtype) -> Tensor:
    return one.to(dtype, memory_format=torch.channels_last)


@dataclasses.dataclass(frozen=True)
class Case:
    """A norm and what goes through it."""

    norm: Norm
    images: Tensor
    shortcut: Tensor | None
    slope: Tensor


def case(shape: tuple[int, ...], relu: bool, adds: bool, learns: bool = True) -> Case:
    channels = shape[1]
    norm = Norm(channels, relu).double()
    with torch.no_grad():
        norm.weight.copy_(values((channels,), 1, 0.3, 1.0))
        norm.bias.copy_(values((channels,), 2, 0.5))
        norm.running_mean.copy_(values((channels,), 3))
        norm.running_var.copy_(values((channels,), 4).abs() + 0.5)
    images = values(shape, 5, 2.0, 3.0)
    shortcut = values(shape, 6) if adds else None
    return Case(norm.train(learns), images, shortcut, values(shape, 7))


def outcome(of: Case, fused: bool, dtype: torch.dtype) -> dict[str, Tensor]:
    """What comes out, all gradients, and the running statistics afterwards."""
    norm = copy.deepcopy(of.norm)
    norm = norm if dtype == torch.float64 else norm.float()
    fuse(norm, fused)
    leaves = {"images": of.images} | ({} if of.shortcut is None else {"shortcut": of.shortcut})
    leaves = {name: packed(one, dtype).requires_grad_() for name, one in leaves.items()}
    seen = norm(*leaves.values())
    assert seen.dtype == dtype
    asked = [*leaves.values(), norm.weight, norm.bias]
    found = torch.autograd.grad(seen, asked, packed(of.slope, dtype))
    slopes = dict(zip([*leaves, "weight", "bias"], found, strict=True))
    return {"seen": seen.detach(), **slopes, **dict(norm.named_buffers())}


def differences(found: dict[str, Tensor], expected: dict[str, Tensor]) -> dict[str, float]:
    """Relative to the largest value of each."""
    assert found.keys() == expected.keys()
    return {
        name: float((found[name].double() - one).abs().max() / one.abs().max().clamp_min(1e-6))
        for name, one in expected.items()
    }


def clear_of_the_edge(of: Case) -> Case:
    """The same, but where ReLU is all but undecided nothing is asked."""
    norm = copy.deepcopy(of.norm)
    norm.relu = False
    before = norm(of.images, of.shortcut)
    return dataclasses.replace(of, slope=of.slope * (before.abs() > 0.02 * before.abs().max()))


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("shape", "relu", "adds"), CASES)
def test_against_float64(
    shape: tuple[int, ...], relu: bool, adds: bool, dtype: torch.dtype, fused: bool
) -> None:
    for learns in (True, False):
        asked = clear_of_the_edge(case(shape, relu, adds, learns))
        found = outcome(asked, fused, dtype)
        worst = differences(found, outcome(asked, False, torch.float64))
        assert max(worst.values()) < WITHIN[dtype], worst


def test_a_far_mean_does_not_cost_the_variance_its_digits() -> None:
    """With a mean of 1000 deviations float32 has three digits left; no kernel may lose them."""
    asked = case((8, 16, 8, 8), relu=False, adds=False)
    asked = dataclasses.replace(asked, images=asked.images + 2048)
    expected = outcome(asked, False, torch.float64)
    worst = differences(outcome(asked, True, torch.float32), expected)
    assert worst["seen"] < 1e-3 and worst["running_var"] < 1e-5


def test_any_number_of_threads_gives_the_same_bits() -> None:
    asked, before = case((40, 64, 9, 9), relu=True, adds=True), torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        many = outcome(asked, True, torch.float32)
    finally:
        torch.set_num_threads(before)
    one = outcome(asked, True, torch.float32)
    assert all(torch.equal(many[name], one[name]) for name in one)


def trunks() -> tuple[torch.nn.Module, torch.nn.Module]:
    """The same network twice: plain, and fused."""
    torch.manual_seed(3)
    plain = Resnet32().build(3).to(memory_format=torch.channels_last)
    fused = copy.deepcopy(plain)
    fuse(fused, True)
    return plain, fused


def images(seed: int = 0) -> Tensor:
    return torch.randn(16, 3, 16, 16, generator=random(seed))


def test_a_network_learns_the_same() -> None:
    slopes, buffers = [], []
    for trunk in trunks():
        trunk.train()
        (trunk(images()).features.square().sum() + trunk(images(1)).features.sum()).backward()
        slopes.append({name: one.grad.clone() for name, one in trunk.named_parameters()})
        buffers.append(dict(trunk.named_buffers()))
    for name, slope in slopes[0].items():
        assert float((slopes[1][name] - slope).norm() / slope.norm()) < 0.05, name
    for name, buffer in buffers[0].items():
        torch.testing.assert_close(buffers[1][name], buffer, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_network_says_the_same_in_eval_mode(precision: str) -> None:
    plain, fused = trunks()
    plain.train()(images())
    fused.load_state_dict(plain.state_dict())
    with torch.no_grad(), autocast(torch.device("cpu"), precision):
        expected, found = (trunk.eval()(images(1)) for trunk in (plain, fused))
    within = 1e-5 if precision == "float32" else 0.05
    for one, other in zip(
        [expected.features, *expected.maps], [found.features, *found.maps], strict=True
    ):
        assert float((one.float() - other.float()).norm() / one.float().norm()) < within


def test_statistics_are_left_alone_where_that_is_asked() -> None:
    _, fused = trunks()
    fused.train()
    before = copy.deepcopy(fused.state_dict())
    with statistics_untouched(fused):
        by_batch = fused(images()).features
    with in_eval_mode(fused):
        by_running = fused(images()).features
    assert all(torch.equal(one, before[name]) for name, one in fused.state_dict().items())
    assert not torch.allclose(by_batch, by_running, rtol=0.1)
    torch.testing.assert_close(fused(images()).features, by_batch)
    assert fused.state_dict()["stem.1.num_batches_tracked"] == 1


def test_networks_are_saved_without_a_word_of_kernels(tmp_path: Path) -> None:
    plain, fused = trunks()
    assert plain.state_dict().keys() == fused.state_dict().keys()
    archive.save(tmp_path / "trunk", fused.state_dict())
    plain.load_state_dict(archive.load(tmp_path / "trunk"))


def test_what_the_kernels_cannot_do_torch_does() -> None:
    norm = Norm(12, relu=True)
    fuse(norm, True)
    asked = torch.randn(3, 12, 4, 4, generator=random(1))
    torch.testing.assert_close(norm(asked), F.relu(F.batch_norm(asked, None, None, training=True)))
    assert norm.double()(asked.double()).dtype == torch.float64


@pytest.mark.parametrize("with_shortcut", [False, True])
def test_what_is_not_a_number_is_not_hidden_by_relu(with_shortcut: bool) -> None:
    norm = Norm(16, relu=True).eval()
    fuse(norm, True)
    asked = torch.zeros(2, 16, 4, 4)
    asked[1, 3, 2, 1] = torch.nan
    shown = norm(asked, torch.zeros_like(asked) if with_shortcut else None)
    assert torch.equal(shown.isnan(), asked.isnan())
