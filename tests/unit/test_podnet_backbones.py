"""PODNet's two networks, against the description of them."""

import pytest
import torch
from test_backbones import noise
from torch import nn
from torch.nn import functional as F

from remanence.backbones.resnet18_pod import Resnet18Pod
from remanence.backbones.resnet32_rebuffi import Resnet32Rebuffi

BOTH = [Resnet32Rebuffi, Resnet18Pod]


def built(kind):
    torch.manual_seed(1)
    return kind().build(3)


def stirred(kind):
    """With running statistics, and residuals that are no longer silent."""
    trunk = built(kind)
    for module in trunk.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.0)
            nn.init.uniform_(module.bias, -0.5, 0.5)
    trunk.train()(noise(8))
    return trunk.eval()


def parts_of(trunk):
    """A function that applies the next convolution and norm of the trunk, in order."""
    modules = [m for m in trunk.modules() if isinstance(m, nn.Conv2d | nn.BatchNorm2d)]
    parts = iter(modules)

    def convolve(x, stride=1):
        convolution, norm = next(parts), next(parts)
        x = F.conv2d(x, convolution.weight, None, stride, convolution.weight.shape[-1] // 2)
        centred = (x - norm.running_mean[:, None, None]) / (norm.running_var + 1e-5).sqrt()[
            :, None, None
        ]
        return norm.weight[:, None, None] * centred + norm.bias[:, None, None]

    return convolve


def rebuffi_by_description(trunk, images):
    """5 + 5 + 4 + 1 blocks, no ReLU after any addition; every second pixel, zero channels."""
    convolve = parts_of(trunk)
    x, maps = convolve(images).relu(), []
    for block in range(15):
        stride = 2 if block in (5, 10) else 1
        inside = convolve(convolve(x, stride).relu())
        if stride == 2:
            sampled = x[:, :, ::2, ::2]
            x = torch.cat([sampled, torch.zeros_like(sampled)], 1)
        x = x + inside
        if block in (4, 9, 13, 14):
            maps.append(x)
    return maps


def resnet18_by_description(trunk, images):
    """Stem at full size, then halved; 2 + 2 + 2 + 2 blocks, the second of a stage without ReLU."""
    convolve = parts_of(trunk)
    x, maps = F.max_pool2d(convolve(images).relu(), 3, 2, 1), []
    for block in range(8):
        stride = 2 if block in (2, 4, 6) else 1
        inside = convolve(convolve(x, stride).relu())
        x = inside + (convolve(x, stride) if stride == 2 else x)
        if block % 2:
            maps.append(x)
        else:
            x = x.relu()
    return maps


@pytest.mark.parametrize(
    ("kind", "describe"),
    [(Resnet32Rebuffi, rebuffi_by_description), (Resnet18Pod, resnet18_by_description)],
)
def test_forward_by_description(kind, describe):
    trunk = stirred(kind)
    with torch.no_grad():
        seen, maps = trunk(noise()), describe(trunk, noise())
    assert len(seen.maps) == 4
    for found, expected in zip(seen.maps, maps, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        assert (found < 0).any(), "before any ReLU"
    torch.testing.assert_close(seen.features, maps[-1].flatten(2).mean(2), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "parameters", "maps"),
    [
        (Resnet32Rebuffi, 463_504, [(16, 32, 32), (32, 16, 16), (64, 8, 8), (64, 8, 8)]),
        (Resnet18Pod, 11_168_832, [(64, 16, 16), (128, 8, 8), (256, 4, 4), (512, 2, 2)]),
    ],
)
def test_sizes(kind, parameters, maps):
    trunk = built(kind)
    assert sum(parameter.numel() for parameter in trunk.parameters()) == parameters
    seen = trunk(noise())
    assert [tuple(one.shape[1:]) for one in seen.maps] == maps
    assert seen.features.shape == (2, trunk.width) and trunk.width == maps[-1][0]


@pytest.mark.parametrize("kind", BOTH)
def test_residuals_start_silent_and_nothing_else_does(kind):
    trunk = built(kind)
    norms = {name: m for name, m in trunk.named_modules() if isinstance(m, nn.BatchNorm2d)}
    silent = {name for name, norm in norms.items() if (norm.weight == 0).all()}
    assert silent == {name for name in norms if name.endswith("bn2")}
    assert all((norms[name].weight == 1).all() for name in set(norms) - silent)


@pytest.mark.parametrize("kind", BOTH)
def test_other_channels_and_sides(kind):
    trunk = kind().build(1)
    assert trunk(noise(2, 8)[:, :1]).features.shape == (2, trunk.width)
