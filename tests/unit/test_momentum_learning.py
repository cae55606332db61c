"""MER: where alpha and beta come from."""

import copy
import dataclasses

import made
import pytest
import torch
from made_momentum import bias_by_definition, gather, noise, settled
from torch.nn import functional as F

from remanence.effects.momentum import Momentum


def learned_by_definition(session, before, now, constrained=False, shown_logits=torch.clone):
    """20 epochs of Adam on 5 CE(z - alpha b), in one batch of images that never vary."""
    pool, network = session.pool, copy.deepcopy(session.network).double().eval()
    with torch.no_grad():
        x = network.trunk(pool.test_view(pool.everything).double()).features
        z = shown_logits(network.head(x).logits)
        at_now = bias_by_definition(network.head, x, now.double())
        at_before = 0.0
        if before is not None:
            at_before = bias_by_definition(network.head, x, before.double())
    values = torch.tensor([0.5, 1.0], dtype=torch.float64)
    first, second = torch.zeros(2), torch.zeros(2)
    for step in range(1, 21):
        alpha, beta = leaf = values.clone().requires_grad_()
        logits = z - alpha * ((1 - beta) * at_before + beta * at_now)
        (slope,) = torch.autograd.grad(5 * F.cross_entropy(logits, pool.labels), leaf)
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        corrected = (second / (1 - 0.999**step)).sqrt() + 1e-8
        rate = 0.002 if step <= 10 else 0.0002
        values = values - rate * first / (1 - 0.9**step) / corrected
        if constrained:
            values = torch.stack([values[0].clamp(min=0), values[1].clamp(0, 1)])
    return values.tolist()


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("has_before", [True, False])
def test_alpha_and_beta_are_learned_by_the_published_recipe(has_before, constrained):
    session = made.session(augmentation=made.STILL)
    before, now = noise(8, seed=1).float() if has_before else None, noise(8, seed=4).float()
    lens = settled(Momentum(constrained=constrained), before, now, kept=session.pool)
    expected = learned_by_definition(session, before, now, constrained)
    assert [lens.alpha, lens.beta] == pytest.approx(expected, abs=2e-5)
    assert lens.alpha != pytest.approx(0.5, abs=1e-3)


def test_constrained_values_stop_at_their_bounds():
    """Of some directions one asks for a beta above 1 at once; constrained, none gets it."""
    session = made.session(augmentation=made.STILL)

    def betas(constrained):
        effect = Momentum(constrained=constrained)
        pairs = [(noise(8, seed=s).float(), noise(8, seed=s + 50).float()) for s in range(3)]
        return [settled(effect, *pair, kept=session.pool).beta for pair in pairs]

    assert max(betas(constrained=False)) > 1
    assert max(betas(constrained=True)) == 1


def test_learning_sees_shuffled_batches_of_128_in_train_views_and_eval_mode():
    session = made.session()
    kept = made.pool([label for label in range(5) for _ in range(30)])
    network = session.network.train()
    before = copy.deepcopy(network.state_dict())
    lens, watched = Momentum().lens(), []

    def shown(out):
        watched.append(out.features)
        return out

    lens.begin(session)
    gather(lens, session, noise(5, 8).float())
    lens.settle(session, kept, shown)
    assert [len(features) for features in watched] == [128, 22] * 20
    assert not torch.equal(watched[0], watched[2])  # another epoch: other views, another order
    assert network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all(parameter.grad is None for parameter in network.parameters())


def test_learning_is_about_what_earlier_lenses_show():
    session = made.session(augmentation=made.STILL)
    before, now = noise(8, seed=1).float(), noise(8, seed=4).float()
    expected = learned_by_definition(session, before, now, shown_logits=torch.neg)

    def shown(out):
        return dataclasses.replace(out, logits=-out.logits)

    lens = settled(Momentum(), before, now, kept=session.pool, shown=shown)
    assert [lens.alpha, lens.beta] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("values", ["auto", "learned", "constants"])
def test_without_exemplars_the_constants_are_taken(values):
    lens = settled(Momentum(values=values), noise(8, seed=1), noise(8, seed=2))
    assert lens.numbers() == {"alpha": 0.5, "beta": 0.8}


def test_constants_stay_constants_where_there_are_exemplars():
    session = made.session()
    lens = settled(
        Momentum(values="constants"),
        noise(8, seed=1).float(),
        noise(8, seed=2).float(),
        kept=session.pool,
    )
    assert lens.numbers() == {"alpha": 0.5, "beta": 0.8}


def test_full_holds_beta_at_one_in_the_first_increment_when_learned_too():
    session = made.session(augmentation=made.STILL)
    effect = Momentum(first="full")
    lens = settled(effect, None, noise(8, seed=4).float(), kept=session.pool)
    assert lens.beta == 1
    assert lens.alpha != 0.5
