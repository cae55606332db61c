"""DCE and MER over PODNet, against what their definitions come to there."""

import copy
import dataclasses
import math

import made
import pytest
import torch
from made_momentum import noise, settled
from test_colliding import assert_same_gradients, gradients
from test_proxies import grown, heard

from remanence.effects.colliding import Colliding
from remanence.effects.momentum import Momentum
from remanence.heads import CosineHead, ProxyHead
from remanence.methods.podnet import Podnet
from remanence.network import Output

FORMS = ["code", "paper", "ce"]
REMOVALS = ["linear", "own_attention", "rerun"]
CODE = Momentum(values="constants")
PAPER = dataclasses.replace(CODE, mix="direction")


# DCE


def opened(effect, form, kept=2):
    """PODNet in the midst of an epoch: method, session, lens, a batch."""
    method, session = Podnet(nca=form), made.session(head=ProxyHead, kept=kept)
    session.network.head.scale.data.fill_(3.0)
    session = dataclasses.replace(session, probabilities=method.probabilities)
    session.network.train()
    lens, epoch = effect.lens(), made.epoch(session.pool)
    lens.begin(session)
    lens.begin_epoch(epoch, session)
    return method, session, lens, next(epoch.batches())


def losses_of(method, session, lens, batch):
    """The losses of a batch, and what they seem."""
    lens.before(batch, session)
    losses = method.classify(session.network(batch.images), batch.labels, session)
    return losses, lens.classification(losses, batch, session)


def believed_by_definition(form, scores, label, is_anchor):
    """The probability of one label for one image, from its unscaled scores and a scale of 3."""
    u = [3 * score for score in scores]
    others = sum(math.exp(one) for place, one in enumerate(u) if place != label)
    if form == "paper":
        return min(1.0, math.exp(u[label] - 3 * 0.6) / others)
    if form == "code" and is_anchor:
        top = max(u)
        return math.exp(u[label] - top) / (1 + others / math.exp(top))
    return math.exp(u[label]) / (others + math.exp(u[label]))


@pytest.mark.parametrize("kept", [2, 0], ids=["R=2", "R=0"])
@pytest.mark.parametrize("form", FORMS)
def test_an_image_and_its_neighbours_are_classified_jointly(form, kept):
    """-log(p/2 + mean of q/2): the anchor by PODNet's own form, neighbours by softmax or paper."""
    effect = Colliding(neighbours=4, source="fresh")
    method, session, lens, batch = opened(effect, form, kept)
    _, seen = losses_of(method, session, lens, batch)
    scores = session.network(batch.images).scores.double().tolist()
    for place, label in enumerate(batch.labels.tolist()):
        near = lens.graph[batch.indices].tolist()
        others = session.network(batch.epoch.view(lens.graph[batch.indices].flatten())).scores
        others = others.double().view(len(near), 4, -1)[place].tolist()
        own = believed_by_definition(form, scores[place], label, True)
        shared = sum(believed_by_definition(form, one, label, False) for one in others) / 4
        assert seen[place].item() == pytest.approx(-math.log((own + shared) / 2), rel=1e-4)


@pytest.mark.parametrize("source", ["bank", "fresh", "through"])
@pytest.mark.parametrize("form", FORMS)
def test_without_weight_on_neighbours_it_is_podnets_own_loss(form, source):
    effect = Colliding(neighbours=4, source=source, own_weight=1.0)
    losses, seen = losses_of(*opened(effect, form))
    torch.testing.assert_close(seen, losses)


@pytest.mark.parametrize("form", FORMS)
def test_the_gradient_is_that_of_a_weighted_loss(form):
    """Each image's loss weighs p / (p + q), held constant, with p = e^-loss."""
    method, session, lens, batch = opened(Colliding(neighbours=4), form)
    near = lens.graph[batch.indices]
    q = lens.bank[near, batch.labels[:, None]].mean(1)
    losses, seen = losses_of(method, session, lens, batch)
    p = (-losses.detach()).exp()
    expected = torch.autograd.grad(
        (p / (p + q) * losses).sum(), session.network.parameters(), retain_graph=True
    )
    assert_same_gradients(gradients(seen.sum(), session.network), expected)


@pytest.mark.parametrize("form", FORMS)
def test_gradient_through_neighbours_is_that_of_the_joint_probability(form):
    effect = Colliding(neighbours=4, source="through")
    method, session, lens, batch = opened(effect, form)
    reference = copy.deepcopy(session.network)
    found = gradients(losses_of(method, session, lens, batch)[1].sum(), session.network)
    near = lens.graph[batch.indices].flatten()
    labels = batch.labels.repeat_interleave(4)[:, None]
    others = method.probabilities(reference(batch.epoch.view(near))).gather(1, labels)
    own = (-method.classify(reference(batch.images), batch.labels, session)).exp()
    joint = own / 2 + others.view(-1, 4).mean(1) / 2
    assert_same_gradients(found, gradients(-joint.log().sum(), reference))


def test_the_finetune_is_left_alone():
    method, session, lens, _ = opened(Colliding(neighbours=4), "code")
    batch = next(made.epoch(session.pool, is_main=False).batches())
    losses, seen = losses_of(method, session, lens, batch)
    assert torch.equal(losses, seen)


# MER


def head_of(removal="linear", **chosen):
    head = grown(3, 2, removal=removal, sharpness=1.5, **chosen)
    head.scale.data.fill_(3.0)
    return head


def shown(effect, head, x, *directions):
    """Logits before and after the effect, the directions being of the last two sessions."""
    verdict = head(x)
    out = Output(x, verdict.logits, verdict.scores)
    return out.logits, settled(effect, *directions).forward(out, head).logits


def left_by_definition(head, x, parts):
    """Logits of images whose unit features lose `share` of the projection on each `h`."""
    rows = torch.cat(list(head.weights)).detach()
    agree = 2 * head.sharpness**2
    table = []
    for one in x / x.norm(dim=1, keepdim=True):
        left = one - sum(share * (one @ h) * h for share, h in parts)
        row = []
        for proxies in rows / rows.norm(dim=2, keepdim=True):
            whole = [agree * float(proxy @ one) for proxy in proxies]
            y = heard(whole) - agree
            if head.removal == "rerun":
                y = heard([agree * float(proxy @ left) for proxy in proxies]) - agree
            for share, h in parts if head.removal != "rerun" else ():
                part = [agree * float((one @ h) * (proxy @ h)) for proxy in proxies]
                by = whole if head.removal == "linear" else part
                attention = torch.tensor(by, dtype=torch.float64).softmax(0).tolist()
                y -= float(share) * sum(a * s for a, s in zip(attention, part, strict=True))
            row.append(3 * y)
        table.append(row)
    return torch.tensor(table, dtype=torch.float64)


def unit(seed):
    direction = noise(6, seed=seed)
    return direction / direction.norm()


@pytest.mark.parametrize("removal", REMOVALS)
def test_momentum_by_definition(removal):
    head, x = head_of(removal), noise(4, 6)
    _, after = shown(CODE, head, x, unit(1), unit(2))
    expected = left_by_definition(head, x, [(0.5 * 0.2, unit(1)), (0.5 * 0.8, unit(2))])
    torch.testing.assert_close(after, expected, rtol=1e-6, atol=1e-6)
    _, after = shown(PAPER, head, x, unit(1), unit(2))
    mixed = 0.2 * unit(1) + 0.8 * unit(2)
    expected = left_by_definition(head, x, [(0.5, mixed / mixed.norm())])
    torch.testing.assert_close(after, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("effect", [CODE, PAPER], ids=["code", "paper"])
@pytest.mark.parametrize("removal", REMOVALS)
def test_alpha_of_zero_and_features_across_change_nothing(removal, effect):
    head, x, h = head_of(removal), noise(4, 6), unit(1)
    before, after = shown(dataclasses.replace(effect, alpha=0.0), head, x, unit(2), h)
    assert torch.equal(before, after)
    before, after = shown(effect, head, x - torch.outer(x @ h, h), h, h)
    torch.testing.assert_close(before, after)


@pytest.mark.parametrize("removal", ["linear", "own_attention"])
def test_a_feature_along_h_keeps_a_share_of_what_is_linear_in_it(removal):
    """z + 2 scale g^2 is linear in a unit x under one attention, and the same for all classes."""
    head, h = head_of(removal), unit(1)
    effect = Momentum(values="constants", alpha=0.3, beta=1.0)
    before, after = shown(effect, head, torch.stack([h, -2 * h]), unit(2), h)
    rest = 2 * 3.0 * 1.5**2
    torch.testing.assert_close(after + rest, 0.7 * (before + rest), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("removal", REMOVALS)
def test_code_and_paper_agree_when_the_directions_do(removal):
    head, x = head_of(removal), noise(4, 6)
    seen = [shown(effect, head, x, unit(1), unit(1))[1] for effect in (CODE, PAPER)]
    torch.testing.assert_close(*seen, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("removal", REMOVALS)
def test_with_one_proxy_it_is_what_a_cosine_classifier_loses(removal):
    head, x = head_of(removal, proxies=1), noise(4, 6)
    cosine = CosineHead(6).double()
    cosine.grow(torch.cat(list(head.weights)).detach()[:, 0])
    cosine.scale.data.fill_(2 * 3.0 * 1.5**2)
    losses = [shown(CODE, one, x, unit(1), unit(2)) for one in (head, cosine)]
    lost, expected = (before - after for before, after in losses)
    torch.testing.assert_close(lost, expected)
