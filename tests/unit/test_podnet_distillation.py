"""What PODNet distils: sums of feature maps, and features; and how much each of them weighs."""

import dataclasses
import math
from types import SimpleNamespace

import made
import pytest
import torch
from made_podnet import spatial_by_definition
from test_losses import Photos, noise

from remanence.core.errors import SettingsError
from remanence.data.cifar100 import Cifar100
from remanence.data.digits import Digits
from remanence.heads import ProxyHead
from remanence.losses import pod_spatial, pod_spatial_squared
from remanence.methods.podnet import Podnet
from remanence.network import Output


@pytest.mark.parametrize(
    ("form", "distance"), [("code", pod_spatial), ("paper", pod_spatial_squared)]
)
def test_spatial_by_definition(form, distance):
    shapes = [(3, 2, 4, 4), (3, 3, 2, 5)]
    maps = [noise(*shape, seed=number) for number, shape in enumerate(shapes)]
    old = [noise(*shape, seed=9 + number) for number, shape in enumerate(shapes)]
    found = float(distance(maps, old))
    assert found == pytest.approx(spatial_by_definition(maps, old, form), rel=1e-5)


def test_maps_that_have_not_moved_cost_nothing_and_have_no_gradient():
    stage = noise(2, 3, 4, 4).requires_grad_()
    for distance in (pod_spatial, pod_spatial_squared):
        loss = distance([stage, stage], [stage.detach(), stage.detach()])
        (slope,) = torch.autograd.grad(loss, stage)
        assert float(loss.detach()) == 0 and (slope == 0).all()


def weights(method, classes, new):
    """What PODNet adds for features at right angles and maps with no place in common."""
    session = dataclasses.replace(made.session(), old_classes=classes - new, classes=classes)
    place = torch.zeros(1, 1, 2, 2)
    here, there = place.clone(), place.clone()
    here[0, 0, 0, 0], there[0, 0, 1, 1] = 1, 3
    scores = torch.zeros(1, classes)
    out = Output(torch.tensor([[1.0, 0.0]]), scores, scores, (here,))
    old = Output(torch.tensor([[0.0, 2.0]]), scores, scores, (there,))
    terms = method.preserve(out, old, SimpleNamespace(), session)
    return [round(float(terms["flat"]), 3), round(float(terms["spatial"]) / math.sqrt(2), 3)]


def test_published_weights_grow_with_the_share_of_new_classes():
    for data, rule, flat, spatial in [
        (Cifar100(), "cnn", 1, 3),
        (Cifar100(), "nme", 1, 5),
        (Photos(), "cnn", 10, 8),
        (Digits(), "cnn", 1, 3),
    ]:
        method = Podnet(tuned_for=rule).resolved(data)
        for classes, new in [(60, 10), (100, 10), (52, 2)]:
            growth = math.sqrt(classes / new)
            expected = [flat * growth, spatial * growth]
            assert weights(method, classes, new) == pytest.approx(expected, abs=1e-3)
    assert weights(Podnet(flat=0.0, spatial=2.0), 8, 2) == [0, 4]


def test_a_backbone_with_too_few_maps_is_refused_in_one_line():
    network = made.network(2, head=ProxyHead)
    forward = network.trunk.forward
    for shown in (0, 1):
        network.trunk.forward = lambda images, shown=shown: dataclasses.replace(
            forward(images), maps=forward(images).maps[:shown]
        )
        method = Podnet(spatial_form="paper", spatial=1.0)
        with pytest.raises(SettingsError, match=rf"^backbone: it shows {shown} maps, .* 2 or more"):
            method.rows(network, made.pool([0, 1]), range(2))
        assert Podnet(spatial=0.0).rows(network, made.pool([0, 1]), range(2)).shape == (2, 10, 8)
