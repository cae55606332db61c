"""TPCIL: the vertices, the draw of a step, and the loss that keeps their topology."""

import dataclasses

import made
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from remanence.augment import augmentation
from remanence.clusters import representatives
from remanence.core import choices
from remanence.core.errors import SettingsError
from remanence.data.cifar100 import Cifar100
from remanence.losses import topology_change
from remanence.memory import Memory
from remanence.methods.tpcil import Tpcil
from remanence.network import Output

SESSION = {"old": 3, "new": 2, "kept": 4}


def gaussian(rows, width, seed):
    return torch.randn(rows, width, generator=made.random(seed), dtype=torch.float64)


def change_by_definition(now, before):
    """Minus the correlation over pairs i < j of their cosines now and before."""

    def edges(features):
        unit = features / np.linalg.norm(features, axis=1, keepdims=True)
        return [unit[i] @ unit[j] for i in range(len(unit)) for j in range(i + 1, len(unit))]

    return -np.corrcoef(edges(now), edges(before))[0, 1]


@made.examples
@given(rows=st.integers(3, 9), width=st.integers(2, 6), seed=st.integers(0, 99))
def test_change_of_topology_by_definition(rows, width, seed):
    now, before = gaussian(rows, width, seed), gaussian(rows, width, seed + 100)
    expected = change_by_definition(now.numpy(), before.numpy())
    assert float(topology_change(now, before)) == pytest.approx(expected)


def test_turning_and_stretching_all_features_changes_nothing():
    before = gaussian(6, 4, 0)
    turn = torch.linalg.qr(gaussian(4, 4, 1)).Q
    assert float(topology_change(3 * before @ turn, before)) == pytest.approx(-1)


def test_equal_images_have_no_topology_and_a_finite_loss():
    same = torch.ones(4, 3, requires_grad=True)
    loss = topology_change(same, gaussian(4, 3, 0).float())
    (gradient,) = torch.autograd.grad(loss, [same])
    assert float(loss.detach()) == 0 and bool(gradient.isfinite().all())


def test_representatives_stand_for_the_clusters_the_largest_first():
    centres = torch.eye(3, dtype=torch.float64)
    sizes = [4, 9, 6]
    clusters = [centre + 0.05 * gaussian(n, 3, n) for centre, n in zip(centres, sizes, strict=True)]
    features = torch.cat(clusters) * torch.arange(1, 20)[:, None]  # their length does not matter
    chosen = representatives(features, 3, seed=0).tolist()
    starts = [0, 4, 13]
    unit = features / features.norm(dim=1, keepdim=True)
    expected = []
    for cluster in (1, 2, 0):
        members = range(starts[cluster], starts[cluster] + sizes[cluster])
        mean = unit[list(members)].mean(0)
        expected.append(min(members, key=lambda place: float((unit[place] - mean).norm())))
    assert chosen == expected
    assert representatives(features, 3, seed=5).tolist() == expected


@made.examples
@given(places=st.lists(st.integers(0, 3), min_size=1, max_size=8), data=st.data())
def test_representatives_are_distinct_even_of_equal_images(places, data):
    count = data.draw(st.integers(1, len(places)))
    chosen = representatives(gaussian(4, 3, 0)[places], count, seed=1).tolist()
    assert len(set(chosen)) == len(chosen) == count


def test_vertices_are_kept_class_after_class_and_old_ones_stay():
    session = made.session(**SESSION)
    chosen = Tpcil().choose(session)
    labels = session.pool.labels
    assert labels[chosen].tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4 + [4] * 4
    assert chosen[:12].tolist() == list(range(session.pool.new_count, len(session.pool)))
    features = session.pool.outputs(session.network, session.pool.everything).features
    for label in (3, 4):
        members = torch.nonzero(labels == label).flatten()
        mine = set(chosen[labels[chosen] == label].tolist())
        assert mine <= set(members.tolist()) and len(mine) == 4
    fewer = Tpcil().choose(dataclasses.replace(session, keep=2))
    assert fewer[:6].tolist() == [chosen[place].item() for place in (0, 1, 4, 5, 8, 9)]
    assert bool(features.isfinite().all())


def preserved(session, seed=0, **chosen):
    method = Tpcil(**{"topology": 15.0, **chosen})
    torch.manual_seed(seed)
    nothing = torch.zeros(1, 1)
    out, batch = Output(nothing, nothing, nothing), next(made.epoch(session.pool).batches())
    return method.preserve(out, out, batch, session)["topology"]


def test_the_term_compares_drawn_vertices_with_the_teacher():
    """With all vertices drawn: 15 times minus the correlation, whatever the batch holds."""
    session = made.session(**SESSION)
    kept = session.pool.everything[session.pool.new_count :]
    views = session.pool.test_view(kept)
    with torch.no_grad():
        before = session.teacher(views).features.double().numpy()
        now = session.network.train()(views).features.double().numpy()
    expected = 15 * change_by_definition(now, before)
    assert float(preserved(session).detach()) == pytest.approx(expected, abs=1e-4)


def test_the_draw_is_that_of_the_step():
    session = made.session(**SESSION)
    one, same, other = (float(preserved(session, seed, vertices=5).detach()) for seed in (1, 1, 2))
    assert one == same != other


def test_only_the_network_learns_from_it_and_its_statistics_stay():
    session = made.session(**SESSION)
    session.network.train()
    before = {name: value.clone() for name, value in session.network.named_buffers()}
    preserved(session).backward()
    assert all(torch.equal(value, before[n]) for n, value in session.network.named_buffers())
    trunk = list(session.network.trunk.parameters())
    assert all(parameter.grad is not None for parameter in trunk)
    assert max(float(parameter.grad.abs().max()) for parameter in trunk) > 0
    assert all(parameter.grad is None for parameter in session.network.head.parameters())
    assert all(parameter.grad is None for parameter in session.teacher.parameters())


def test_a_step_descends_on_it():
    session = made.session(**SESSION)
    session.network.train()
    optimiser = torch.optim.SGD(session.network.parameters(), lr=0.005)
    losses = []
    for _ in range(20):
        loss = preserved(session)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] - 0.1


def test_weights_schedule_and_views():
    found = Tpcil().resolved(Cifar100())
    assert (found.topology, found.finetune_epochs) == (15, 0)
    assert Tpcil(topology=5).resolved(Cifar100()).topology == 5
    training = found.training(Cifar100())
    assert (training.epochs, training.rate, training.augmentation) == (160, 0.1, "cifar_tpcil")
    views, lucir = augmentation("cifar_tpcil"), augmentation("cifar_lucir")
    assert views == dataclasses.replace(lucir, brightness=63 / 255)
    assert list(found.rules()) == ["cnn"]


def test_the_list_says_what_it_is():
    assert choices.caveat("methods", "tpcil") == "[re-implementation from a description]"
    assert choices.caveat("methods", "lucir") == choices.caveat("methods", "my.own") == ""


@pytest.mark.parametrize(
    ("memory", "finds"), [(Memory(per_class=0), 0), (Memory(total=5), 2)], ids=["none", "two"]
)
def test_too_few_vertices_are_refused(memory, finds):
    increments = (made.increment(0, 0, 2), made.increment(1, 2, 4))
    wrong = rf"^memory\.per_class: tpcil compares at least 3 .* finds {finds}; keep more"
    with pytest.raises(SettingsError, match=wrong):
        Tpcil().check(increments, (), Memory(per_class=1) if finds else memory)
    Tpcil().check(increments, (), Memory(per_class=2))
