"""PODNet's classifier: what several proxies say, how they are imprinted, saved and held."""

import itertools
import math

import made
import pytest
import torch

from remanence.clusters import centres
from remanence.core import archive
from remanence.heads import ProxyHead
from remanence.methods.podnet import imprinted


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=made.random(seed), dtype=torch.float64)


def grown(*groups, **chosen):
    torch.manual_seed(sum(groups))
    head = ProxyHead(6, **{"proxies": 3, **chosen}).double()
    for classes in groups:
        head.grow(head.fresh_rows(classes).double())
    return head


def heard(similarities, factor=1.0):
    """The sum of similarities, weighted by the softmax of `factor` times them."""
    shares = [math.exp(factor * one) for one in similarities]
    return sum(a * s for a, s in zip(shares, similarities, strict=True)) / sum(shares)


def said_by_definition(head, x):
    """y_c = sum_k a_ck s_ck with s_ck = -|g x - g w_ck|^2, both unit, and a = softmax_k(s)."""
    table = []
    for one in x:
        row = []
        for proxies in torch.cat(list(head.weights)).detach():
            gaps = [head.sharpness * (one / one.norm() - proxy / proxy.norm()) for proxy in proxies]
            row.append(heard([-float(gap @ gap) for gap in gaps]))
        table.append(row)
    return torch.tensor(table, dtype=torch.float64)


@pytest.mark.parametrize("sharpness", [1.0, 3.0])
@pytest.mark.parametrize("proxies", [1, 4])
def test_scores_by_definition(sharpness, proxies):
    head, x = grown(3, 2, sharpness=sharpness, proxies=proxies), noise(5, 6)
    head.scale.data.fill_(2.5)
    verdict = head(x)
    torch.testing.assert_close(verdict.scores, said_by_definition(head, x))
    torch.testing.assert_close(verdict.logits, 2.5 * verdict.scores)
    assert (verdict.scores <= 0).all() and (verdict.scores >= -4 * sharpness**2).all()


def test_the_gradient_is_that_of_the_definition():
    head, x = grown(2, 2), noise(3, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda features: head(features).logits, (x,))


def test_it_starts_with_a_scale_of_one_and_normal_proxies():
    """Kaiming's normal for a linear layer: standard deviation 1 / sqrt(width)."""
    head = ProxyHead(16)
    rows = head.fresh_rows(500)
    assert head.scale.item() == 1
    assert rows.shape == (500, 10, 16)
    assert rows.std().item() == pytest.approx(0.25, rel=0.01)
    assert rows.mean().item() == pytest.approx(0, abs=0.004)


def test_growth_keeps_what_was_known(tmp_path):
    head, x = grown(3), noise(4, 6)
    before = head(x).logits
    head.grow(head.fresh_rows(2).double())
    assert head.classes == 5
    torch.testing.assert_close(head(x).logits[:, :3], before)
    archive.save(tmp_path / "head", head.state_dict())
    younger = grown(3)
    younger.load_state_dict(archive.load(tmp_path / "head"))
    assert torch.equal(younger(x).logits, head(x).logits)
    assert [len(block) for block in younger.old_rows()] == [3]
    assert {id(row) for row in younger.rows()} == {id(block) for block in younger.weights}


# Centres


def spread(points, parts):
    """The sum of squared distances to the mean of each part."""
    total = 0.0
    for part in set(parts):
        members = points[[place for place, one in enumerate(parts) if one == part]]
        total += float((members - members.mean(0)).square().sum())
    return total


def test_centres_are_the_means_of_the_best_parts():
    """Against all ways to part eight points in two."""
    points = noise(8, 2, seed=3)
    best = min(itertools.product((0, 1), repeat=8), key=lambda parts: spread(points, parts))
    places = torch.tensor(best)
    expected = torch.stack([points[places == part].mean(0) for part in (0, 1)])
    found = centres(points, 2, seed=1)
    torch.testing.assert_close(found.sort(0).values, expected.sort(0).values)


def test_centres_are_the_same_for_the_same_seed():
    points = noise(90, 5)
    assert torch.equal(centres(points, 10, seed=4), centres(points, 10, seed=4))
    assert not torch.equal(centres(points, 10, seed=4), centres(points, 10, seed=5))


@pytest.mark.parametrize("points", [noise(3, 4), noise(3, 4).repeat(5, 1)], ids=["few", "equal"])
def test_with_fewer_points_than_centres_each_is_there_again_but_not_twice_the_same(points):
    found = centres(points, 10, seed=0)
    gaps = torch.cdist(found, points[:3])
    assert gaps.min(1).values.max() < 0.011
    nearest = gaps.argmin(1).bincount(minlength=3)
    assert nearest.min() >= 3, "all count alike"
    assert len(found.unique(dim=0)) == 10
    assert found.dtype == points.dtype


def test_imprinted_proxies_are_centres_of_unit_features_as_long_as_old_proxies():
    session = made.session(head=ProxyHead, per_class=30)
    network, pool = session.network.train(), session.pool
    before = {name: value.clone() for name, value in network.state_dict().items()}
    torch.manual_seed(0)
    blocks = imprinted(network, pool, range(3, 5), 4)
    torch.manual_seed(0)
    assert torch.equal(blocks, imprinted(network, pool, range(3, 5), 4))
    assert blocks.shape == (2, 4, 8)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())

    network.eval()
    proxies = torch.cat(list(network.head.weights)).flatten(0, 1)
    length = sum(math.hypot(*proxy) for proxy in proxies.tolist()) / len(proxies)
    for label, block in zip((3, 4), blocks, strict=True):
        places = (pool.labels == label).nonzero().flatten()
        with torch.no_grad():
            features = network(pool.test_view(places)).features.double()
        unit = features / features.norm(dim=1, keepdim=True)
        found = block.double() / length
        nearest = torch.cdist(unit, found).argmin(1)
        assert set(nearest.tolist()) == set(range(4))
        for proxy in range(4):  # a centre is the mean of what is nearest to it
            torch.testing.assert_close(
                found[proxy], unit[nearest == proxy].mean(0), rtol=1e-4, atol=1e-5
            )
