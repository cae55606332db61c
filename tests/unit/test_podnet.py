"""PODNet's loss, term by term and as a whole, and its two stages."""

import dataclasses
import json
import math
from types import SimpleNamespace

import made
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_losses import Photos, distance_by_definition, noise

from remanence import augment
from remanence.core.errors import SettingsError
from remanence.data.cifar100 import Cifar100
from remanence.data.digits import Digits
from remanence.heads import ProxyHead
from remanence.losses import log_odds, nca, pod_spatial, pod_spatial_squared
from remanence.methods.podnet import Podnet
from remanence.network import Output

SHORT = {"epochs": 1, "batch": 100, "augmentation": "still", "rate": 0.5}
FORMS = ["code", "paper", "ce"]


def nca_by_definition(row, label, form, scale=1.0):
    """One image: -(u_y - m) + log(1 + sum_{i != y} e^(u_i - m)); paper: hinge, own class out."""
    top = max(row)
    others = [u for i, u in enumerate(row) if i != label]
    if form == "code":
        return -(row[label] - top) + math.log(1 + sum(math.exp(u - top) for u in others))
    if form == "ce":
        return math.log(sum(map(math.exp, row))) - row[label]
    ratio = math.exp(row[label] - 0.6 * scale) / sum(map(math.exp, others))
    return max(0.0, -math.log(ratio))


def spatial_by_definition(maps, old_maps, form="code"):
    """Squares summed over one side and over the other; unit; distance; mean over images, maps."""
    far = []
    for one, other in list(zip(maps, old_maps, strict=True))[: None if form == "code" else -1]:
        for image, old_image in zip(one.detach().double(), other.double(), strict=True):
            sides = []
            for seen in (image, old_image):
                channels, height, width = seen.shape
                over_height, over_width = [], []
                for c in range(channels):
                    for w in range(width):
                        over_height.append(sum(float(seen[c, h, w]) ** 2 for h in range(height)))
                    for h in range(height):
                        over_width.append(sum(float(seen[c, h, w]) ** 2 for w in range(width)))
                apart = [over_height, over_width]
                sides.append([over_height + over_width] if form == "code" else apart)
            gaps = [
                math.dist([v / math.hypot(*now) for v in now], [v / math.hypot(*old) for v in old])
                for now, old in zip(*sides, strict=True)
            ]
            far.append(gaps[0] if form == "code" else sum(gap**2 for gap in gaps))
    return sum(far) / len(far)


@made.examples
@given(
    classes=st.integers(2, 6),
    count=st.integers(1, 5),
    seed=st.integers(0, 99),
    size=st.floats(1, 30),
)
def test_classification_by_definition(classes, count, seed, size):
    scores = -noise(count, classes, seed=seed).abs()
    labels = torch.randint(classes, (count,), generator=made.random(seed))
    out = Output(scores, size * scores, scores)
    for form in FORMS:
        losses = Podnet(nca=form).classify(out, labels, made.session())
        for row, label, loss in zip(out.logits.tolist(), labels.tolist(), losses, strict=True):
            expected = nca_by_definition(row, label, form, size)
            assert float(loss) == pytest.approx(expected, rel=1e-6, abs=1e-9), form


def test_the_codes_form_is_cross_entropy_where_the_label_is_the_best_class():
    logits = torch.tensor([[3.0, 1.0, 0.5], [1.0, 3.0, 0.5]], dtype=torch.float64)
    first, second = nca(logits, torch.tensor([0, 0])).tolist()
    assert first == pytest.approx(nca_by_definition(logits[0].tolist(), 0, "ce"))
    assert second > nca_by_definition(logits[1].tolist(), 0, "ce")
    assert nca(10 * logits - 7, torch.tensor([0, 0])).tolist() == pytest.approx(
        nca(10 * logits, torch.tensor([0, 0])).tolist()
    ), "a margin on all logits cancels"


@pytest.mark.parametrize("form", FORMS)
def test_probabilities_of_the_label_are_what_the_loss_takes_the_log_of(form):
    """But that the code's own form falls short of softmax where another class is ahead."""
    method, scores = Podnet(nca=form), -noise(6, 4, seed=8).abs()
    out = Output(scores, 5 * scores, scores)
    believed = method.probabilities(out)
    assert believed.shape == (6, 4) and (believed >= 0).all() and (believed <= 1).all()
    for label in range(4):
        labels = torch.full((6,), label)
        direct = (-method.classify(out, labels, made.session())).exp()
        best = scores.argmax(1) == label
        equal = best if form == "code" else torch.ones_like(best)
        torch.testing.assert_close(direct[equal], believed[equal, label])
        assert (direct <= believed[:, label] + 1e-12).all()


def test_log_odds_stay_finite_and_have_the_right_gradient():
    far = torch.tensor([[80.0, -80.0, 0.0]], requires_grad=True)
    odds = log_odds(far)
    assert odds.tolist()[0] == pytest.approx([80, -160, -80])
    (slope,) = torch.autograd.grad(odds[0, 0], far)
    assert torch.isfinite(slope).all() and slope[0, 0] == 1
    logits = noise(3, 5).requires_grad_()
    assert torch.autograd.gradcheck(log_odds, (logits,))
    assert torch.autograd.gradcheck(lambda u: nca(u, torch.tensor([0, 4, 2])), (logits,))


def test_one_class_alone_is_known_for_certain():
    scores = torch.tensor([[-1.0], [-2.0]], requires_grad=True)
    labels = torch.tensor([0, 0])
    for form in FORMS:
        out = Output(scores, 3 * scores, scores)
        losses = Podnet(nca=form).classify(out, labels, made.session())
        (slope,) = torch.autograd.grad(losses.sum(), scores)
        assert losses.tolist() == [0, 0]
        assert slope.tolist() == [[0], [0]]


def test_the_margin_does_not_move_the_scale():
    """Else a scale below 0 would make every loss of the paper's form 0."""
    scores, scale = -noise(4, 3).abs(), torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([0, 1, 2, 0])
    slopes = []
    for margin in (0.6, 0.7):
        out = Output(scores, scale * scores, scores)
        losses = Podnet(nca="paper", margin=margin).classify(out, labels, made.session())
        assert (losses > 0).all()
        slopes.append(torch.autograd.grad(losses.sum(), scale)[0])
    torch.testing.assert_close(*slopes)


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


@pytest.mark.parametrize("form", FORMS)
def test_a_step_of_an_increment_descends_the_sum_of_three_terms(form, tmp_path, monkeypatch):
    """L = NCA + sqrt(all / new) (flat + 3 spatial); in the base increment NCA alone."""
    monkeypatch.setitem(augment.NAMED, "still", made.STILL)
    method = {"name": "podnet", "nca": form, "finetune_epochs": 0, "proxies": 3}
    learner = made.learner({"method": method, "training": SHORT})
    expected = []
    for increment in (made.increment(0, 0, 3), made.increment(1, 3, 5)):
        session = learner.meet(increment)
        pool = session.pool
        seen = session.network.train()(pool.test_view(pool.everything))
        rows, scale = seen.logits.double().tolist(), float(session.network.head.scale.detach())
        pairs = zip(rows, pool.labels.tolist(), strict=True)
        loss = sum(nca_by_definition(*pair, form, scale) for pair in pairs) / len(pool)
        if session.teacher is not None:
            old, growth = session.teacher(pool.test_view(pool.everything)), math.sqrt(5 / 2)
            loss += growth * distance_by_definition(seen.features, old.features)
            loss += 3 * growth * spatial_by_definition(seen.maps, old.maps)
        expected.append(loss)
        made.fit(learner, session, tmp_path)
        learner.close(session)
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["loss"] for line in log] == pytest.approx(expected, abs=2e-5)


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
