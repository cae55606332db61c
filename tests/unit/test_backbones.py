"""ResNet-32 and ResNet-18 as LUCIR and DDE use them, against their descriptions; the convnet."""

import math

import made
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from remanence.backbones.convnet import Convnet
from remanence.backbones.resnet18 import Resnet18
from remanence.backbones.resnet32 import Resnet32
from remanence.core import archive


def resnet32(**chosen):
    torch.manual_seed(1)
    return Resnet32(**chosen).build(3)


def noise(count=2, side=32):
    return torch.randn(count, 3, side, side, generator=torch.Generator().manual_seed(0))


def features_by_description(trunk, images):
    """Stem; 3 stages of 5 blocks, the first of stages 2 and 3 halving the side; mean over places.

    A block: convolution, norm, ReLU, convolution, norm, + shortcut, ReLU (but not in the last).
    """
    parts = iter([m for m in trunk.modules() if isinstance(m, nn.Conv2d | nn.BatchNorm2d)])

    def convolve(x, stride):
        convolution, norm = next(parts), next(parts)
        pad = convolution.weight.shape[-1] // 2
        x = F.conv2d(x, convolution.weight, None, stride, pad)
        centred = x - norm.running_mean[:, None, None]
        return centred / (norm.running_var[:, None, None] + 1e-5).sqrt()

    x, stages = convolve(images, 1).relu(), []
    for stage in range(3):
        for block in range(5):
            stride = 2 if stage and block == 0 else 1
            inside = convolve(convolve(x, stride).relu(), 1)
            x = inside + (convolve(x, stride) if stride == 2 else x)
            x = x if (stage, block) == (2, 4) else x.relu()
        stages.append(x)
    assert next(parts, None) is None
    return x.flatten(2).mean(2), stages


def test_forward_by_description():
    trunk = resnet32()
    trunk.train()(noise(8))  # gives the running statistics something to say
    with torch.no_grad():
        seen = trunk.eval()(noise())
        features, stages = features_by_description(trunk, noise())
    torch.testing.assert_close(seen.features, features, rtol=1e-4, atol=1e-4)
    for found, expected in zip(seen.maps, stages, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_size_of_resnet32():
    trunk = resnet32()
    assert sum(parameter.numel() for parameter in trunk.parameters()) == 466_256
    convolutions = [m for m in trunk.modules() if isinstance(m, nn.Conv2d)]
    assert sum(c.kernel_size == (3, 3) for c in convolutions) == 31
    assert sum(c.kernel_size == (1, 1) for c in convolutions) == 2
    assert all(c.bias is None for c in convolutions)
    assert trunk.width == 64


def test_shapes_of_what_is_seen():
    seen = resnet32()(noise())
    assert seen.features.shape == (2, 64)
    assert [tuple(one.shape[1:]) for one in seen.maps] == [(16, 32, 32), (32, 16, 16), (64, 8, 8)]


@pytest.mark.parametrize("last_relu", [False, True])
def test_features_are_signed_unless_a_last_relu_is_asked_for(last_relu):
    trunk = resnet32(last_relu=last_relu)
    [m for m in trunk.modules() if isinstance(m, nn.BatchNorm2d)][-1].bias.data -= 2
    seen = trunk(noise(8))
    assert bool((seen.features < 0).any()) != last_relu
    assert bool((seen.maps[2] < 0).any()) != last_relu
    assert all((one >= 0).all() for one in seen.maps[:2])


def test_convolutions_start_by_he_for_outputs_and_norms_as_the_identity():
    """Normal with variance 2 / (outputs x kernel area), also where a norm ends a block."""
    trunk = resnet32()
    for module in trunk.modules():
        if isinstance(module, nn.Conv2d):
            outputs, _, height, width = module.weight.shape
            std = math.sqrt(2 / (outputs * height * width))
            tolerance = 4 / math.sqrt(2 * module.weight.numel())  # four standard errors
            assert module.weight.std().item() == pytest.approx(std, rel=tolerance)
            assert abs(module.weight.mean().item()) < 4 * std / math.sqrt(module.weight.numel())
        if isinstance(module, nn.BatchNorm2d):
            assert (module.weight == 1).all() and (module.bias == 0).all()
            assert (module.eps, module.momentum) == (1e-5, 0.1)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("width", [1, 8, 64])
def test_convnet_gives_signed_features_of_any_width(width, channels):
    torch.manual_seed(0)
    trunk = Convnet(width=width).build(channels)
    seen = trunk(noise(8, 8)[:, :channels])
    assert trunk.width == width and seen.features.shape == (8, width)
    assert (seen.features < 0).any() and (seen.features > 0).any()
    torch.testing.assert_close(seen.features, seen.maps[-1].flatten(2).mean(2))


def learner_with_scales():
    learner = made.learner({"backbone": {"name": "resnet32", "filter_scales": True}})
    assert all(name in dict(learner.network.named_parameters()) for name in (WEIGHT, SCALE))
    return learner


WEIGHT = "trunk.stage1.0.conv1.parametrizations.weight.original"
SCALE = "trunk.stage1.0.conv1.parametrizations.weight.0.scale"


def moved(learner, session, folder):
    """The parameters that a session of two steps changes."""
    before = {name: value.clone() for name, value in learner.network.named_parameters()}
    made.fit(learner, session, folder)
    learner.close(session)
    after = dict(learner.network.named_parameters())
    return {name for name in after if not torch.equal(after[name], before[name])}


def test_filter_scales_move_after_the_base_and_filters_in_it(tmp_path):
    learner = learner_with_scales()
    base = moved(learner, learner.meet(made.increment(0, 0, 3)), tmp_path)
    filters = {name for name in base if "parametrizations" in name}
    assert len(filters) == 33 and all(name.endswith(".original") for name in filters)
    second = moved(learner, learner.meet(made.increment(1, 3, 5)), tmp_path)
    scales = {name for name in second if "parametrizations" in name}
    assert len(scales) == 33 and all(name.endswith(".scale") for name in scales)
    assert {"trunk.stage1.0.bn1.weight", "head.scale"} <= base & second


def test_filter_scales_survive_checkpoints_and_teachers(tmp_path):
    learner = learner_with_scales()
    for increment in (made.increment(0, 0, 3), made.increment(1, 3, 5)):
        moved(learner, learner.meet(increment), tmp_path)
    archive.save(tmp_path / "learner", learner.state())
    other = learner_with_scales()
    other.load(archive.load(tmp_path / "learner"))
    images = noise(3, 8)
    with torch.no_grad():
        said, said_again, said_by_teacher = (
            network.eval()(images).features
            for network in (learner.network, other.network, learner.network.frozen())
        )
    assert torch.equal(said, said_again) and torch.equal(said, said_by_teacher)
    session = other.meet(made.increment(2, 5, 6))
    assert not any(parameter.requires_grad for parameter in session.teacher.parameters())
    needs = {name: one.requires_grad for name, one in session.network.named_parameters()}
    assert needs[SCALE] and not needs[WEIGHT]


def test_the_network_for_photographs_has_scales_too():
    plain, trunk = resnet18().eval(), resnet18(filter_scales=True).eval()
    scales = [one for name, one in trunk.named_parameters() if name.endswith(".scale")]
    assert len(scales) == 20 and not any(one.requires_grad for one in scales)
    trunk.after_base()
    assert all(one.requires_grad for one in scales)
    images = noise(2, 32)
    with torch.no_grad():
        assert torch.equal(trunk(images).features, plain(images).features)


def test_a_scale_is_a_factor_of_each_filter_and_channel():
    plain, scaled = resnet32(), resnet32(filter_scales=True)
    assert torch.equal(plain.eval()(noise()).features, scaled.eval()(noise()).features)
    convolution = scaled.stage2[0].conv1
    with torch.no_grad():
        convolution.parametrizations["weight"][0].scale[3, 5] = 2.0
    ratio = convolution.weight / plain.stage2[0].conv1.weight
    expected = torch.ones(32, 16, 3, 3)
    expected[3, 5] = 2.0
    torch.testing.assert_close(ratio, expected)


def resnet18(**chosen):
    torch.manual_seed(1)
    return Resnet18(**chosen).build(3)


def resnet18_by_description(trunk, images):
    """7 x 7 by twos, norm, ReLU, 3 x 3 maximum by twos; then 4 stages of 2 blocks, as above."""
    parts = iter([m for m in trunk.modules() if isinstance(m, nn.Conv2d | nn.BatchNorm2d)])

    def convolve(x, stride):
        convolution, norm = next(parts), next(parts)
        pad = convolution.weight.shape[-1] // 2
        x = F.conv2d(x, convolution.weight, None, stride, pad)
        centred = x - norm.running_mean[:, None, None]
        return centred / (norm.running_var[:, None, None] + 1e-5).sqrt()

    x, stages = F.max_pool2d(convolve(images, 2).relu(), 3, 2, 1), []
    for stage in range(4):
        for block in range(2):
            stride = 2 if stage and block == 0 else 1
            inside = convolve(convolve(x, stride).relu(), 1)
            x = inside + (convolve(x, stride) if stride == 2 else x)
            x = x if (stage, block) == (3, 1) else x.relu()
        stages.append(x)
    assert next(parts, None) is None
    return x.flatten(2).mean(2), stages


def test_forward_of_resnet18_by_description():
    trunk = resnet18()
    trunk.train()(noise(8, 64))
    with torch.no_grad():
        seen = trunk.eval()(noise(2, 64))
        features, stages = resnet18_by_description(trunk, noise(2, 64))
    torch.testing.assert_close(seen.features, features, rtol=1e-4, atol=1e-4)
    assert len(seen.maps) == len(stages) == 4
    for found, expected in zip(seen.maps, stages, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_size_of_resnet18():
    trunk = resnet18()
    assert sum(parameter.numel() for parameter in trunk.parameters()) == 11_176_512
    assert trunk.width == 512
    shapes = [tuple(one.shape[1:]) for one in trunk(noise(2, 64)).maps]
    assert shapes == [(64, 16, 16), (128, 8, 8), (256, 4, 4), (512, 2, 2)]


@pytest.mark.parametrize("last_relu", [False, True])
def test_features_of_resnet18_are_signed_unless_a_last_relu_is_asked_for(last_relu):
    seen = resnet18(last_relu=last_relu)(noise(4, 32))
    assert bool((seen.features < 0).any()) != last_relu
    assert all((one >= 0).all() for one in seen.maps[:3])
