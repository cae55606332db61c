"""Nearest mean of exemplars, against distances worked out image by image."""

import dataclasses

import made
import pytest
import torch

from remanence.effects.nearest_mean import NearestMean
from remanence.network import Output


def unit_features(network, pixels):
    """Unit features of clean images, one image at a time, in eval mode."""
    clean = made.MOVING.test_view(pixels, made.DARKENED)
    with torch.no_grad():
        features = torch.cat([network.eval()(one[None]).features for one in clean]).double()
    return features / features.norm(dim=1, keepdim=True)


def means_by_definition(network, images, also):
    """Of every class the direction of mean(d) + mean(d'), d' of the same images seen otherwise."""
    means = []
    for label in images.labels.unique():
        pixels = images.pixels[images.labels == label]
        mean = unit_features(network, pixels).mean(0)
        if also is not None:
            mean = (mean + unit_features(network, also(pixels)).mean(0)) / 2
        means.append(mean / mean.norm())
    return torch.stack(means)


def mirror(pixels):
    return torch.stack([pixels[..., column] for column in range(7, -1, -1)], -1)


def red_for_blue(pixels):
    return pixels[:, [2, 1, 0]]


def settled(effect, session, kept):
    lens = effect.lens()
    lens.settle(session, kept, lambda out: out)
    return lens


WAYS = {
    "auto, data that are mirrored": ("auto", made.MOVING, mirror),
    "auto, data that are not": ("auto", made.STILL, None),
    "never": ("never", made.MOVING, None),
    "channels": ("channels", made.MOVING, red_for_blue),
}


@pytest.mark.parametrize(("how", "augmentation", "also"), WAYS.values(), ids=WAYS)
def test_the_class_whose_mean_is_nearest(how, augmentation, also):
    session = made.session()
    kept = made.pool([0, 0, 0, 1, 2, 2, 3, 3, 4, 4], augmentation=augmentation)
    lens = settled(NearestMean(mirror=how), session, kept)
    means = means_by_definition(session.network, kept.images, also)

    out = session.network.eval()(torch.rand(40, 3, 8, 8, generator=made.random(8)) * 4 - 2)
    seen = lens.forward(out, session.network.head)
    x = out.features.detach().double()
    distances = torch.cdist(x / x.norm(dim=1, keepdim=True), means)
    assert torch.equal(seen.logits.argmax(1), distances.argmin(1))
    torch.testing.assert_close(seen.logits.detach().double(), -(distances**2), atol=1e-5, rtol=0)
    assert len(seen.logits.argmax(1).unique()) > 2
    assert torch.equal(seen.features, out.features)


def test_the_ways_differ():
    session, kept = made.session(), made.pool([0, 1, 2, 3, 4])
    means = [
        settled(NearestMean(mirror=how), session, kept).means
        for how in ("auto", "never", "channels")
    ]
    assert not torch.allclose(means[0], means[1]) and not torch.allclose(means[1], means[2])


def test_lengths_of_features_do_not_count():
    session = made.session()
    lens = settled(NearestMean(), session, made.pool([0, 1, 2, 3, 4]))
    x = torch.randn(9, 8, generator=made.random(1))
    near, far = (
        lens.forward(Output(scale * x, x, x), session.network.head).logits for scale in (1, 50)
    )
    torch.testing.assert_close(near, far)


@pytest.mark.parametrize("labels", [[], [0, 1, 2, 3]])
def test_without_images_of_every_class_there_is_nothing_to_predict_with(labels):
    session = made.session()
    lens = NearestMean().lens()
    assert not lens.ready
    lens.settle(session, made.pool([0, 1, 2, 3, 4]), lambda out: out)
    assert lens.ready
    lens.settle(session, made.pool(labels), lambda out: out)
    assert not lens.ready


def test_settling_leaves_the_network_as_it_was():
    session = made.session()
    network = session.network.train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    settled(NearestMean(), dataclasses.replace(session), made.pool([0, 1, 2, 3, 4]))
    assert network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
