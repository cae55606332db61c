"""Learning rates: where they drop, also when a schedule is shortened, and the cosine."""

import math
from fractions import Fraction

import pytest

from remanence.data.cifar100 import Cifar100
from remanence.data.digits import Digits
from remanence.methods.lucir import Lucir
from remanence.schedule import Training

CIFAR = Training.steps(160, (1 / 2, 3 / 4), weight_decay=5e-4)
IMAGENET = Training.steps(90, (1 / 3, 2 / 3), weight_decay=1e-4)


def drops(training, epochs):
    """The epochs (from 0) whose rate is lower than that of the epoch before."""
    rates = [training.rate_at(epoch, epochs) for epoch in range(epochs)]
    return [epoch for epoch in range(1, epochs) if rates[epoch] < rates[epoch - 1]]


@pytest.mark.parametrize(
    ("training", "epochs", "expected"),
    [
        (CIFAR, 160, [80, 120]),
        (IMAGENET, 90, [30, 60]),
        (CIFAR, 40, [20, 30]),
        (CIFAR, 15, [8, 12]),
        (CIFAR, 1, []),
    ],
)
def test_drops_act_from_their_epoch_on(training, epochs, expected):
    assert drops(training, epochs) == expected


def test_each_drop_divides_the_rate_by_ten():
    rates = [CIFAR.rate_at(epoch, 160) for epoch in (0, 79, 80, 119, 120, 159)]
    assert rates == pytest.approx([0.1, 0.1, 0.01, 0.01, 0.001, 0.001])


def test_a_drop_never_waits_an_epoch_longer_than_it_should():
    """A drop at 0.55 of 100 epochs acts from epoch 55 on, whatever 0.55 * 100 is to the machine."""
    late = []
    for hundredth in range(1, 100):
        training = Training.steps(1, (hundredth / 100,), weight_decay=0)
        for epochs in (15, 40, 50, 70, 90, 100, 160, 200, 250):
            due = math.ceil(Fraction(hundredth, 100) * epochs)
            if not training.rate_at(due, epochs) < training.rate_at(due - 1, epochs):
                late.append((hundredth, epochs))
    assert late == []


@pytest.mark.parametrize("epochs", [1, 7, 160])
def test_cosine_falls_from_the_full_rate_towards_zero(epochs):
    tree = {"epochs": epochs, "rate": 0.1, "schedule": "cosine", "drops": [], "drop_factor": 0.1}
    training = Training(**tree)
    rates = [training.rate_at(epoch, epochs) for epoch in range(epochs)]
    expected = [0.05 * (1 + math.cos(math.pi * epoch / epochs)) for epoch in range(epochs)]
    assert rates == pytest.approx(expected)
    assert rates[0] == 0.1 and rates[-1] > 0
    assert rates == sorted(rates, reverse=True)


def test_the_base_may_be_trained_longer():
    training = Training(epochs=15, base_epochs=40)
    assert [training.epochs_of(increment) for increment in (0, 1, 5)] == [40, 15, 15]
    assert Training(epochs=15).epochs_of(0) == 15


def test_lucir_is_trained_as_published():
    found = Lucir().training(Cifar100())
    assert (found.epochs, found.batch, found.rate) == (160, 128, 0.1)
    assert (found.momentum, found.weight_decay) == (0.9, 5e-4)
    assert (found.schedule, found.augmentation) == ("steps", "cifar_lucir")
    assert drops(found, 160) == [80, 120]
    photos = Lucir.schedules["imagenet_sub"]
    assert (photos.epochs, photos.batch, photos.rate, photos.weight_decay) == (90, 128, 0.1, 1e-4)
    assert drops(photos, 90) == [30, 60]
    assert Lucir().training(Digits()).augmentation == "digits"
