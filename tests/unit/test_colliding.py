"""DCE: the loss of an image together with its neighbours, by definition and by its gradient."""

import copy
import dataclasses
import math

import made
import pytest
import torch
from torch.nn import functional as F

from remanence.effects.colliding import Colliding

FRESH = Colliding(neighbours=4, source="fresh")


def opened(effect, session, number=0):
    """A lens in the midst of an epoch, and the epoch."""
    lens, epoch = effect.lens(), made.epoch(session.pool, number)
    lens.begin(session)
    lens.begin_epoch(epoch, session)
    return lens, epoch


def step(lens, batch, session):
    """What training does with a batch: the network's output, its losses, and what they seem."""
    lens.before(batch, session)
    out = session.network(batch.images)
    losses = F.cross_entropy(out.logits, batch.labels, reduction="none")
    return out, losses, lens.classification(losses, batch, session)


def of_label(logits, labels):
    """The probability of a label, image by image."""
    return logits.softmax(1).gather(1, labels[:, None])[:, 0]


def of_neighbours(network, batch, graph):
    """The probability of each image's own label on its neighbours, seen as in this epoch."""
    near = graph[batch.indices]
    logits = network(batch.epoch.view(near.flatten())).logits
    return of_label(logits, batch.labels.repeat_interleave(near.shape[1])).view(near.shape)


def weights_by_definition(effect, session, graph):
    """W_0 of the image itself, then W_1 to W_K: of every image of the pool."""
    even = torch.ones(len(graph), effect.neighbours)
    if effect.weights == "variant2":
        features = session.teacher(session.pool.test_view(session.pool.everything)).features
        unit = features / features.norm(dim=1, keepdim=True)
        cosines = torch.stack([unit[near] @ own for near, own in zip(graph, unit, strict=True)])
        return torch.cat([even[:, :1], cosines], 1).softmax(1)
    own = 1 / (effect.neighbours + 1) if effect.weights == "variant1" else 1 / 2
    own = own if effect.own_weight is None else effect.own_weight
    return torch.cat([own * even[:, :1], (1 - own) / effect.neighbours * even], 1)


def gradients(loss, network):
    return torch.autograd.grad(loss, list(network.parameters()))


def assert_same_gradients(found, expected):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-6)


WEIGHTS = {
    "half": {},
    "variant1": {"weights": "variant1"},
    "variant2": {"weights": "variant2"},
    "own weight": {"own_weight": 0.3},
}


@pytest.mark.parametrize("changes", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("kept", [2, 0], ids=["R=2", "R=0"])
def test_the_loss_by_definition(changes, kept):
    """-log(W_0 p + sum of W_j p_j), for every batch of an epoch and the last, smaller one."""
    effect, session = dataclasses.replace(FRESH, **changes), made.session(kept=kept)
    session.network.train()
    lens, epoch = opened(effect, session)
    weights = weights_by_definition(effect, session, lens.graph)
    torch.testing.assert_close(torch.cat([lens.own_share[:, None], lens.shares], 1), weights)
    torch.testing.assert_close(lens.own_share + lens.shares.sum(1), torch.ones(len(weights)))
    visited = []
    for batch in epoch.batches():
        out, _, seen = step(lens, batch, session)
        others = of_neighbours(session.network, batch, lens.graph)
        own_and_others = torch.cat([of_label(out.logits, batch.labels)[:, None], others], 1)
        expected = -(weights[batch.indices] * own_and_others).sum(1).log()
        torch.testing.assert_close(seen, expected, rtol=1e-4, atol=1e-5)
        visited += batch.indices.tolist()
    assert len(batch.indices) < 5 and sorted(visited) == list(range(len(session.pool)))


@pytest.mark.parametrize("source", ["bank", "fresh", "through"])
def test_an_own_weight_of_one_is_cross_entropy(source):
    effect, session = Colliding(neighbours=4, source=source, own_weight=1.0), made.session()
    session.network.train()
    lens, epoch = opened(effect, session)
    _, losses, seen = step(lens, next(epoch.batches()), session)
    torch.testing.assert_close(seen, losses)


@pytest.mark.parametrize("own", [0.5, 0.3, 1.0, 0.0])
@pytest.mark.parametrize("source", ["bank", "fresh"])
def test_the_gradient_is_that_of_weighted_cross_entropy(own, source):
    """Each image's cross-entropy weighs w p / (w p + (1 - w) q), the weight held constant."""
    effect, session = Colliding(neighbours=4, source=source, own_weight=own), made.session()
    session.network.train()
    lens, epoch = opened(effect, session)
    for batch in epoch.batches():
        near = lens.graph[batch.indices]
        if source == "bank":
            others = lens.bank[near, batch.labels[:, None]].clone()
        else:
            others = of_neighbours(session.network, batch, lens.graph).detach()
        out, losses, seen = step(lens, batch, session)
        p, q = of_label(out.logits, batch.labels).detach(), others.mean(1)
        weight = own * p / (own * p + (1 - own) * q)
        network = session.network
        expected = torch.autograd.grad(
            (weight * losses).sum(), network.parameters(), retain_graph=True
        )
        assert_same_gradients(gradients(seen.sum(), network), expected)
        lens.watch(out, batch, session)


@pytest.mark.parametrize("batchnorm", ["isolated", "shared", "eval"])
@pytest.mark.parametrize("source", ["fresh", "through"])
def test_gradient_reaches_neighbours_only_where_it_should(source, batchnorm):
    effect = Colliding(neighbours=4, source=source, batchnorm=batchnorm)
    session = made.session()
    reference = copy.deepcopy(session.network)
    session.network.train()
    lens, epoch = opened(effect, session)
    batch = next(epoch.batches())
    found = gradients(step(lens, batch, session)[2].sum(), session.network)

    others = of_neighbours(reference.train(batchnorm != "eval"), batch, lens.graph).mean(1)
    own = of_label(reference.train()(batch.images).logits, batch.labels)
    others = others if source == "through" else others.detach()
    expected = gradients(-(own / 2 + others / 2).log().sum(), reference)
    assert_same_gradients(found, expected)


def test_the_bank_holds_what_was_last_said_of_each_image():
    """At first of clean images in eval mode, then of each image when it was trained on."""
    session = made.session()
    lens = Colliding(neighbours=4).lens()
    lens.begin(session)
    network, pool = session.network, session.pool
    with torch.no_grad():
        expected = network.eval()(pool.test_view(pool.everything)).logits.softmax(1)
    network.train()
    for number in range(2):
        epoch = made.epoch(pool, number)
        lens.begin_epoch(epoch, session)
        for batch in epoch.batches():
            out, losses, seen = step(lens, batch, session)
            others = expected[lens.graph[batch.indices], batch.labels[:, None]].mean(1)
            torch.testing.assert_close(seen, -((-losses).exp() / 2 + others / 2).log())
            lens.watch(out, batch, session)
            expected[batch.indices] = out.logits.detach().softmax(1)
            for parameter, slope in zip(
                network.parameters(), gradients(seen.mean(), network), strict=True
            ):
                parameter.data -= 0.1 * slope
    assert lens.bank.shape == (len(pool), 5)
    torch.testing.assert_close(lens.bank, expected)


def test_bank_and_fresh_agree_on_a_network_that_stands_still():
    """In eval mode on views that do not vary, age and company of a prediction are no matter."""
    session = made.session(augmentation=made.STILL)
    session.network.eval()
    shown = []
    for source in ("bank", "fresh"):
        effect = Colliding(neighbours=4, source=source, batchnorm="eval")
        lens, epoch = opened(effect, session)
        shown.append([step(lens, batch, session)[2] for batch in epoch.batches()])
    for bank, fresh in zip(*shown, strict=True):
        torch.testing.assert_close(bank, fresh)


@pytest.mark.parametrize("source", ["fresh", "through"])
@pytest.mark.parametrize("batchnorm", ["isolated", "shared", "eval"])
def test_what_neighbours_do_to_the_running_statistics(source, batchnorm):
    """Shared: one more update, as if they had been trained on. Isolated, eval: not one bit."""
    session = made.session()
    network = session.network.train()
    lens, epoch = opened(Colliding(neighbours=4, source=source, batchnorm=batchnorm), session)
    batch, expected = next(epoch.batches()), copy.deepcopy(network)
    lens.before(batch, session)
    if batchnorm == "shared":
        expected(epoch.view(lens.graph[batch.indices].flatten()))
    for found, wanted in zip(network.buffers(), expected.buffers(), strict=True):
        assert torch.equal(found, wanted)
    assert network.training and all(module.training for module in network.modules())


def test_the_bank_never_runs_the_network():
    session = made.session()
    network = session.network.train()
    lens, epoch = opened(Colliding(neighbours=4), session)
    calls = []
    network.register_forward_hook(lambda *_: calls.append(1))
    for batch in epoch.batches():
        lens.before(batch, session)
    assert not calls


@pytest.mark.parametrize("source", ["bank", "fresh"])
def test_the_base_and_the_balanced_finetune_see_plain_cross_entropy(source):
    session = made.session()
    base = dataclasses.replace(session, teacher=None)
    for one, is_main in ((base, True), (session, False)):
        lens = Colliding(neighbours=4, source=source).lens()
        epoch = made.epoch(session.pool, is_main=is_main)
        lens.begin(one)
        lens.begin_epoch(epoch, one)
        _, losses, seen = step(lens, next(epoch.batches()), one)
        assert torch.equal(seen, losses)


@pytest.mark.parametrize("source", ["bank", "fresh", "through"])
def test_a_neighbour_that_is_sure_of_another_class_breaks_nothing(source):
    """Its probability of the label is 0 to the machine: half of p is left, and every slope."""
    session = made.session()
    session.network.train().head.scale.data.fill_(1e4)
    lens, epoch = opened(Colliding(neighbours=1, source=source), session)
    met = 0
    for batch in epoch.batches():
        _, losses, seen = step(lens, batch, session)
        if source == "bank":
            unlikely = lens.bank[lens.graph[batch.indices, 0], batch.labels] == 0
            right = unlikely & (losses < 1)
            torch.testing.assert_close(seen[right], losses[right] + math.log(2))
            met += int(right.sum())
        assert all(slope.isfinite().all() for slope in gradients(seen.sum(), session.network))
    assert met or source != "bank"
