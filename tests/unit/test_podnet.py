"""PODNet's loss, term by term and as a whole, and its two stages."""

import json
import math

import made
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from made_podnet import nca_by_definition, spatial_by_definition
from test_losses import distance_by_definition, noise
from torch.utils._python_dispatch import TorchDispatchMode

from remanence import augment
from remanence.data.digits import Digits
from remanence.heads import ProxyHead
from remanence.losses import log_odds, nca
from remanence.methods.podnet import Podnet
from remanence.network import Output

SHORT = {"epochs": 1, "batch": 100, "augmentation": "still", "rate": 0.5}
FORMS = ["code", "paper", "ce"]


@pytest.fixture(scope="module")
def session():
    return made.session(head=ProxyHead, kept=4)


@made.examples
@given(
    classes=st.integers(2, 6),
    count=st.integers(1, 5),
    seed=st.integers(0, 99),
    size=st.floats(1, 30),
)
def test_classification_by_definition(session, classes, count, seed, size):
    scores = -noise(count, classes, seed=seed).abs()
    labels = torch.randint(classes, (count,), generator=made.random(seed))
    out = Output(scores, size * scores, scores)
    for form in FORMS:
        losses = Podnet(nca=form).classify(out, labels, session)
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
def test_probabilities_of_the_label_are_what_the_loss_takes_the_log_of(form, session):
    """But that the code's own form falls short of softmax where another class is ahead."""
    method, scores = Podnet(nca=form), -noise(6, 4, seed=8).abs()
    out = Output(scores, 5 * scores, scores)
    believed = method.probabilities(out)
    assert believed.shape == (6, 4) and (believed >= 0).all() and (believed <= 1).all()
    for label in range(4):
        labels = torch.full((6,), label)
        direct = (-method.classify(out, labels, session)).exp()
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


def test_one_class_alone_is_known_for_certain(session):
    scores = torch.tensor([[-1.0], [-2.0]], requires_grad=True)
    labels = torch.tensor([0, 0])
    for form in FORMS:
        out = Output(scores, 3 * scores, scores)
        losses = Podnet(nca=form).classify(out, labels, session)
        (slope,) = torch.autograd.grad(losses.sum(), scores)
        assert losses.tolist() == [0, 0]
        assert slope.tolist() == [[0], [0]]


def test_the_margin_does_not_move_the_scale(session):
    """Else a scale below 0 would make every loss of the paper's form 0."""
    scores, scale = -noise(4, 3).abs(), torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([0, 1, 2, 0])
    slopes = []
    for margin in (0.6, 0.7):
        out = Output(scores, scale * scores, scores)
        losses = Podnet(nca="paper", margin=margin).classify(out, labels, session)
        assert (losses > 0).all()
        slopes.append(torch.autograd.grad(losses.sum(), scale)[0])
    torch.testing.assert_close(*slopes)


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


class Operations(TorchDispatchMode):
    """Writes down every operation on tensors and the shape of what it returns."""

    def __init__(self):
        super().__init__()
        self.done = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        returned = func(*args, **(kwargs or {}))
        self.done.append((str(func), getattr(returned, "shape", None)))
        return returned


@pytest.mark.parametrize("spatial_form", ["code", "paper"])
@pytest.mark.parametrize("form", FORMS)
def test_a_step_is_the_same_operations_for_every_batch(form, spatial_form, session):
    """And none of them waits for a number: what a GPU may record once and replay."""
    method = Podnet(nca=form, spatial_form=spatial_form).resolved(Digits())
    lists = []
    for batch in list(made.epoch(session.pool).batches())[:4]:
        with Operations() as operations:
            out, old = session.network(batch.images), session.teacher(batch.images)
            terms = method.preserve(out, old, batch, session).values()
            loss = method.classify(out, batch.labels, session).mean() + sum(terms)
            torch.autograd.grad(loss, list(session.network.parameters()))
        lists.append(operations.done)
    assert all(one == lists[0] for one in lists)
    assert not [name for name, _ in lists[0] if "local_scalar" in name or "nonzero" in name]
