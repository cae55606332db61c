"""Exemplars with learned pixels: the classifiers made from them, and how the pixels move."""

import dataclasses
import math

import made
import numpy as np
import pytest
import torch
from torch.nn import functional as F

from remanence import augment
from remanence.core.errors import RemanenceError
from remanence.images import Images
from remanence.learned_exemplars import Descent, FittedRows, MeanRows, learned
from remanence.loader import Epoch

LABELS = torch.tensor([3, 3, 4, 4, 4])


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=made.random(seed), dtype=torch.float64)


def loss_by_definition(rows, features, labels):
    """Mean of -log softmax of the cosines, image by image."""
    losses = []
    for feature, label in zip(features, labels, strict=True):
        cosines = torch.stack([feature @ row / feature.norm() / row.norm() for row in rows])
        losses.append(torch.logsumexp(cosines, 0) - cosines[int(label)])
    return torch.stack(losses).mean()


def fitted_by_definition(start, features, passes, rate):
    """Gradient descent on the first exemplar of each class, then on the second, and so on."""
    rounds = [[0, 2], [1, 3], [4]]
    rows = start.clone().requires_grad_()
    for _ in range(passes):
        for places in rounds:
            loss = loss_by_definition(rows, features[places], LABELS[places])
            (gradient,) = torch.autograd.grad(loss, [rows], create_graph=True)
            rows = rows - rate * gradient
    return rows


@pytest.mark.parametrize("passes", [1, 4])
def test_rows_are_fitted_by_gradient_descent_on_one_exemplar_of_each_class_at_a_time(passes):
    start, features = noise(5, 6), noise(5, 6, seed=1)
    found = FittedRows(start, LABELS, passes, 0.3)(features)
    torch.testing.assert_close(found, fitted_by_definition(start, features, passes, 0.3))


def test_the_gradient_of_fitted_rows_reaches_the_exemplars():
    start, asked = noise(5, 6), noise(4, 6, seed=2)
    labels = torch.tensor([0, 4, 3, 3])

    def outer(rows_of, features):
        return loss_by_definition(rows_of(features), asked, labels)

    gradients = []
    for rows_of in (
        FittedRows(start, LABELS, 3, 0.3),
        lambda features: fitted_by_definition(start, features, 3, 0.3),
    ):
        features = noise(5, 6, seed=1).requires_grad_()
        gradients += torch.autograd.grad(outer(rows_of, features), [features])
    assert gradients[1].abs().max() > 1e-4
    torch.testing.assert_close(*gradients)


def test_mean_rows_are_means_of_raw_features_and_other_classes_rows_are_held():
    held, features = noise(6, 4), noise(5, 4, seed=1)
    found = MeanRows(held, LABELS)(features).numpy()
    expected = held.numpy().copy()
    expected[3], expected[4] = features[:2].numpy().mean(0), features[2:].numpy().mean(0)
    np.testing.assert_allclose(found, expected)


def task(augmentation=made.MOVING, batch_size=5, epochs=1):
    """A frozen network, two exemplars of each of two classes, and what they are asked."""
    network = made.network(4).frozen()
    kept = made.pool([2, 2, 3, 3], augmentation=augmentation)
    asked = made.pool([2, 3] * 10, augmentation=augmentation)
    passes = [
        Epoch(asked, asked.everything, batch_size, 7, (1, "exemplars", number))
        for number in range(epochs)
    ]
    rows = FittedRows(network.head.weights.whole(), kept.labels, 5, 0.3)
    return network, kept, rows, passes


def adam(rate):
    return lambda views: torch.optim.Adam(views, lr=rate, betas=(0.5, 0.999))


def cosine_loss(network, rows, pixels, kept, epochs):
    """What the exemplars' classifier loses on all that is asked, as prediction sees it."""
    pool = dataclasses.replace(kept, images=Images(pixels, kept.images.labels))
    asked = epochs[0].pool
    classifier = rows(pool.outputs(network, pool.everything).features)
    unit = F.normalize(asked.outputs(network, asked.everything).features)
    return float(F.cross_entropy(unit @ F.normalize(classifier).T, asked.labels))


def test_pixels_descend_the_loss_on_what_is_asked():
    network, kept, rows, epochs = task(made.STILL, epochs=10)
    moved = learned(kept, network, rows, Descent(adam(0.05), epochs))
    before, after = (
        cosine_loss(network, rows, pixels, kept, epochs)
        for pixels in (kept.images.pixels, moved.pixels)
    )
    assert after < before - 1e-3
    assert torch.equal(moved.labels, kept.images.labels)
    assert moved.pixels.dtype == torch.uint8 and moved.pixels.shape == kept.images.pixels.shape


def test_one_step_moves_each_pixel_by_the_rate_in_the_views_units():
    """Adam's first step is the rate, up or down; a pixel is 255 deviations of its channel."""
    network, kept, rows, epochs = task(batch_size=20)
    moved = learned(kept, network, rows, Descent(adam(0.1), epochs)).pixels.int()
    steps = moved - kept.images.pixels.int()
    free = (moved > 0) & (moved < 255)
    for channel, deviation in enumerate(kept.augmentation.std):
        expected = round(0.1 * 255 * deviation)
        sizes = steps[:, channel][free[:, channel]].abs()
        assert len(sizes) > 100
        assert (sizes - expected).abs().max() <= 1  # ties of rounding


def test_the_rate_is_halved_every_40_epochs():
    network, kept, rows, epochs = task(epochs=41)
    rates = []

    class Noted(torch.optim.SGD):
        def step(self, closure=None):
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    learned(kept, network, rows, Descent(lambda views: Noted(views, lr=0.5), epochs))
    assert rates == [0.5] * 160 + [0.25] * 4


@pytest.mark.parametrize("name", [name for name in augment.NAMED if name != "digits"])
def test_pixels_that_do_not_move_are_stored_as_they_were(name):
    network, kept, rows, epochs = task(augment.NAMED[name])
    moved = learned(kept, network, rows, Descent(adam(1e-12), epochs))
    assert torch.equal(moved.pixels, kept.images.pixels)


def test_the_published_rate_moves_no_pixel():
    """400 steps of 1e-6, as many as one increment of CIFAR-100 takes: a hundredth of a level."""
    network, kept, rows, epochs = task(epochs=100)
    moved = learned(kept, network, rows, Descent(adam(1e-6), epochs))
    assert sum(len(epoch) for epoch in epochs) == 400
    assert torch.equal(moved.pixels, kept.images.pixels)


def test_the_network_stays_as_it_is_and_the_same_call_gives_the_same_bits():
    network, kept, rows, epochs = task(epochs=3)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    first, second = (
        learned(kept, network, rows, Descent(adam(0.02), epochs)).pixels for _ in range(2)
    )
    assert torch.equal(first, second)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all(parameter.grad is None for parameter in network.parameters())


def test_the_memory_does_not_grow_with_the_exemplars_but_for_their_views():
    network, _, _, epochs = task(batch_size=4)
    kept = made.pool([2, 3] * 100)
    rows = FittedRows(network.head.weights.whole(), kept.labels, 1, 0.3)
    with made.LargestTensor() as largest:
        learned(kept, network, rows, Descent(adam(0.02), epochs))
    views = kept.images.pixels.numel() * 4
    assert largest.nbytes <= views


def test_pixels_that_are_no_numbers_are_refused():
    network, kept, rows, epochs = task()
    descent = Descent(lambda views: torch.optim.SGD(views, lr=math.inf), epochs)
    with pytest.raises(RemanenceError, match=r"no numbers: lower method\.exemplar_rate"):
        learned(kept, network, rows, descent)
