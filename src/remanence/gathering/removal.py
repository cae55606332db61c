"""For momentum effect removal: the mean logit of every class with and without it."""

from __future__ import annotations

from functools import reduce
from itertools import takewhile

import torch

from remanence.data.base import Images
from remanence.engine.readings import chains
from remanence.engine.reopen import Reopened
from remanence.memory import rank_in_class
from remanence.report.exhibit import Missing, Removal, Shift

IMAGES = 20  # of each class


def removal(run: Reopened) -> Removal | Missing:
    """What the direction of momentum takes from the logits of test images."""
    chain = next(iter(chains(run.experiment).values()))
    earlier = list(takewhile(lambda effect: effect.name != "momentum", chain))
    if len(earlier) == len(chain):
        return Missing("The run is without the effect momentum.")
    if len(run.finished) < 2:
        return Missing("Only the base is learned: there is nothing to remove yet.")
    lenses = next(iter(run.learner.lenses.readings.values()))
    images = _some(reduce(Images.joined, (one.test for one in run.finished)))
    pool, head = run.learner.pool(images), run.learner.network.head
    with torch.no_grad():
        out = pool.outputs(run.learner.network, pool.everything)
        for lens in lenses[: len(earlier)]:
            out = lens.forward(out, head)
        after = lenses[len(earlier)].forward(out, head)
    means = zip(out.logits.mean(0).tolist(), after.logits.mean(0).tolist(), strict=True)
    owners = [one.number for one in run.finished for _ in one.names]
    shifts = zip(run.stream.class_names, owners, means, strict=False)
    numbers = lenses[len(earlier)].numbers()
    classes = tuple(Shift(name, number, *pair) for name, number, pair in shifts)
    return Removal(len(images), numbers["alpha"], numbers["beta"], classes)


def _some(images: Images) -> Images:
    """The first images of each class."""
    return images[torch.nonzero(rank_in_class(images.labels) < IMAGES).flatten()]
