"""BiC: what is set aside, what each stage trains, and the correction against its definition."""

import dataclasses
import json
import math

import made
import pytest
import torch
from torch.nn import functional as F

from remanence import augment
from remanence.core import archive
from remanence.core.errors import SettingsError
from remanence.data.cifar100 import Cifar100
from remanence.heads import CorrectedHead
from remanence.memory import Memory, rank_in_class
from remanence.methods.bic import Bic
from remanence.session import Session

STREAM = ((0, 3), (3, 5), (5, 7))


def learner(*trees):
    """BiC with twelve exemplars of each class: ranks 1 and 11 are for validation."""
    return made.learner({"method": "bic", "memory": {"per_class": 12}}, *trees)


def increments():
    return [made.increment(number, *span, per_class=15) for number, span in enumerate(STREAM)]


def corrected_head(*groups, beta=0.6, gamma=-0.5):
    torch.manual_seed(1)
    head = CorrectedHead(8)
    for classes in groups:
        head.grow(head.fresh_rows(classes))
    head.double()
    with torch.no_grad():
        head.beta.fill_(beta)
        head.gamma.fill_(gamma)
    return head


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=made.random(seed), dtype=torch.float64)


def bare_logits(head, x):
    return x @ torch.cat(list(head.weights)).T + torch.cat(list(head.biases))


# The head


def test_the_newest_classes_alone_are_corrected():
    head, x = corrected_head(3, 2, 2), noise(6, 8)
    expected = bare_logits(head, x)
    torch.testing.assert_close(head(x).scores, expected)
    expected[:, 5:] = 0.6 * expected[:, 5:] - 0.5
    torch.testing.assert_close(head(x).logits, expected)


def test_along_is_what_the_projection_adds_to_the_corrected_logits():
    head, x = corrected_head(3, 2), noise(6, 8)
    direction = F.normalize(noise(8, seed=2), dim=0)
    projected = torch.outer(x @ direction, direction)
    expected = head(x).logits - head(x - projected).logits
    torch.testing.assert_close(head.along(x, direction), expected)


def test_the_teacher_corrects_what_was_new_to_it_and_growth_starts_anew():
    head, x = corrected_head(3, 2), noise(6, 8)
    network = made.network(3, head=CorrectedHead)
    network.head = head
    teacher = network.frozen()
    bare, said = bare_logits(head, x), head(x).logits
    head.grow(head.fresh_rows(2))
    head.double()
    torch.testing.assert_close(head(x).logits[:, :5], bare)
    torch.testing.assert_close(teacher.head(x).logits, said)
    assert (head.beta.item(), head.gamma.item()) == (1, 0)


def test_a_correction_is_saved_with_the_head(tmp_path):
    head, x = corrected_head(3, 2), noise(6, 8)
    archive.save(tmp_path / "head", {"head": head.state_dict()})
    fresh = CorrectedHead(8).double()
    fresh.load_state_dict(archive.load(tmp_path / "head")["head"])
    assert torch.equal(fresh(x).logits, head(x).logits)


# What is set aside


def pictures(images):
    return {one.numpy().tobytes() for one in images.pixels}


@pytest.mark.parametrize("memory", [{"per_class": 12}, {"per_class": 2}, {"total": 36}], ids=str)
def test_nothing_is_trained_on_and_validated_with_ever(memory):
    learning = learner({"memory": memory})
    method, trained, validated = learning.experiment.method, set(), set()
    for increment in increments():
        session = learning.meet(increment)
        main, *bias = method.stages(session)
        trained |= pictures(session.pool.images[main.members(session, session.pool)])
        kept = learning.pool(method.remember(session))
        for stage in bias:
            images = kept.images[stage.members(session, kept)]
            validated |= pictures(images)
            counts = torch.bincount(images.labels)
            assert counts.min() == counts.max() == (2 if session.keep > 11 else 1)
        counts = torch.bincount(kept.images.labels)
        assert counts.tolist() == [session.keep] * session.classes
        learning.close(session)
    assert validated and not trained & validated


def test_all_other_images_are_trained_on():
    learning = learner()
    session = learning.meet(increments()[0])
    assert len(session.visited) == 3 * (15 - 2)
    learning.close(session)
    session = learning.meet(increments()[1])
    labels = torch.bincount(session.pool.labels[session.visited])
    assert labels.tolist() == [10] * 3 + [13] * 2


def test_the_rest_is_herded_among_what_is_not_set_aside():
    learning = learner()
    session = learning.meet(increments()[0])
    kept = learning.experiment.method.choose(session)
    ranks = rank_in_class(session.pool.labels[kept])
    is_aside = ranks % 10 == 1
    assert not torch.isin(kept[is_aside], session.visited).any()
    features = session.pool.outputs(session.network, session.visited).features
    unit = features.double() / features.double().norm(dim=1, keepdim=True)
    for label in range(3):
        candidates = session.visited[session.pool.labels[session.visited] == label]
        rows = unit[session.pool.labels[session.visited] == label]
        first = candidates[int((rows @ rows.mean(0)).argmax())]
        of_class = session.pool.labels[kept] == label
        assert kept[of_class & (ranks == 0)] == first


def test_what_is_set_aside_is_drawn_by_the_seed():
    def aside(seed: int) -> set[int]:
        session = learner({"seed": seed}).meet(increments()[0])
        return set(range(len(session.pool))) - set(session.visited.tolist())

    assert aside(1) == aside(1) != aside(2)


def test_what_is_set_aside_is_nobodys_neighbour():
    learning = learner({"effects": {"colliding": {"neighbours": 3}}})
    for increment in increments()[:2]:
        session = learning.meet(increment)
        learning.lenses.begin(session)
        graph = learning.lenses.acting[0].graph
        learning.close(session)
    assert torch.isin(graph, session.visited).all()
    assert len(graph) == len(session.pool) > len(session.visited)


@pytest.mark.parametrize(
    ("memory", "told"),
    [
        (Memory(per_class=0), r"memory.per_class: 0 .*at least 2.*method=lwf"),
        (Memory(per_class=1), r"memory.per_class: 1 .*at least 2"),
        (Memory(total=9), r"memory.total: 9 .*5 classes.*at least 2"),
    ],
    ids=str,
)
def test_too_few_exemplars_are_refused_in_one_line(memory, told):
    stream = [made.increment(0, 0, 3), made.increment(1, 3, 5)]
    with pytest.raises(SettingsError, match=f"^{told}") as error:
        Bic().check(stream, (), memory)
    assert "\n" not in str(error.value)
    Bic().check(stream, (), Memory(per_class=2))
    Bic().check(stream, (), Memory(total=10))


# What is trained


def test_first_the_network_moves_and_then_the_correction_alone(tmp_path):
    learning = learner({"training": {"batch": 100}})
    for increment in increments()[:2]:
        session = learning.meet(increment)
        states = made.fit(learning, session, tmp_path)
        learning.close(session)
    main, bias = ([s["network"] for s in states if s["position"][0] == n] for n in (0, 1))
    assert (len(main), len(bias)) == (2, 4)  # twice as many epochs
    moved = [name for name in main[0] if not torch.equal(main[0][name], main[1][name])]
    assert any(name.startswith("trunk.") for name in moved) and "head.weights.0" in moved
    assert all((state["head.beta"], state["head.gamma"]) == (1, 0) for state in main)
    for name, value in bias[-1].items():
        has_moved = not torch.equal(value, main[-1][name])
        assert has_moved == (name in ("head.beta", "head.gamma")), name


def first_loss(of, number):
    log = [json.loads(line) for line in (of / "log.jsonl").read_text().splitlines()]
    return next(line["loss"] for line in log if (line["increment"], line["stage"]) == number)


def test_a_step_weighs_both_losses_by_the_share_of_classes(tmp_path, monkeypatch):
    """(n_old / n) mean -sum q log p + (1 - n_old / n) CE, without what is set aside."""
    monkeypatch.setitem(augment.NAMED, "still", made.STILL)
    learning = learner(
        {"training": {"epochs": 1, "batch": 200, "augmentation": "still", "rate": 0.5}}
    )
    for number, increment in enumerate(increments()):
        session = learning.meet(increment)
        clean = session.pool.test_view(session.visited)
        labels = session.pool.labels[session.visited]
        logits = session.network.train()(clean).logits.detach().double()
        expected = -float(logits.softmax(1)[range(len(labels)), labels].log().mean())
        if session.teacher:
            old, n = session.old_classes, session.classes
            q = (session.teacher(clean).logits.double() / 2).softmax(1)
            p = (logits[:, :old] / 2).softmax(1)
            kept = -float((q * p.log()).sum(1).mean())
            expected = old / n * kept + (1 - old / n) * expected
        made.fit(learning, session, tmp_path)
        learning.close(session)
        assert first_loss(tmp_path, (number, "main")) == pytest.approx(expected, abs=2e-5)
    assert learning.network.head.beta.item() != 1, "so the teacher had a correction to speak with"


def fitted_by_newton(bare, labels, newest, shrinkage):
    """The minimum over beta and gamma of CE(corrected, y) + shrinkage gamma^2 / 2."""
    values = torch.tensor([1.0, 0.0], dtype=torch.float64)

    def objective(values):
        corrected = torch.cat([bare[:, :-newest], values[0] * bare[:, -newest:] + values[1]], dim=1)
        taken = corrected.log_softmax(1)[range(len(labels)), labels]
        return -taken.mean() + shrinkage * values[1] ** 2 / 2

    for _ in range(30):
        slope = torch.autograd.functional.jacobian(objective, values)
        curvature = torch.autograd.functional.hessian(objective, values)
        values = values - torch.linalg.solve(curvature, slope)
    assert float(slope.norm()) < 1e-9
    return values.tolist()


@pytest.mark.parametrize("shrinkage", [0.1, 2.0])
def test_the_correction_ends_at_its_minimum(shrinkage, tmp_path):
    method = {"name": "bic", "bias_epochs": 400, "bias_rate": 0.5, "shrinkage": shrinkage}
    learning = learner({"method": method, "training": {"epochs": 4, "batch": 64}})
    for increment in increments()[:2]:
        session = learning.meet(increment)
        made.fit(learning, session, tmp_path)
        learning.close(session)
    ranks = rank_in_class(learning.exemplars.labels)
    held_out = learning.pool(learning.exemplars[ranks % 10 == 1])
    bare = held_out.outputs(learning.network, held_out.everything).scores.double()
    expected = fitted_by_newton(bare, held_out.labels, 2, shrinkage)
    head = learning.network.head
    assert [head.beta.item(), head.gamma.item()] == pytest.approx(expected, abs=2e-3)
    assert abs(expected[0] - 1) > 0.01 and abs(expected[1]) > 0.01
    assert learning.lenses.numbers() == {
        "uncorrected.beta": head.beta.item(),
        "uncorrected.gamma": head.gamma.item(),
    }


def test_the_corrected_reading_is_first_and_the_bare_one_beside_it():
    learning = learner()
    session = learning.meet(increments()[0])
    learning.network.head.gamma.data.fill_(9)
    out = session.pool.outputs(learning.network, session.pool.everything)
    learning.close(session)
    seen = learning.lenses.read(out, learning.network.head)
    assert list(seen) == ["cnn", "uncorrected"]
    assert torch.equal(seen["cnn"].logits, out.logits)
    torch.testing.assert_close(seen["uncorrected"].logits + 9, out.logits)


def test_the_stage_that_corrects_has_the_schedule_of_the_main_one_twice_as_long():
    method = Bic()
    training = dataclasses.replace(method.training(Cifar100()), base_epochs=250)
    session = dataclasses.replace(made.session(head=CorrectedHead), training=training)
    main, bias = method.stages(session)
    rates = [main.training.rate_at(epoch, main.epochs) for epoch in (0, 100, 150, 200)]
    assert rates == pytest.approx([0.1, 0.01, 0.001, 0.0001])
    assert (main.epochs, bias.epochs, bias.training.weight_decay) == (250, 500, 0)
    rates = [bias.training.rate_at(epoch, bias.epochs) for epoch in (0, 199, 200, 300, 400)]
    assert rates == pytest.approx([0.05, 0.05, 0.005, 0.0005, 0.00005])
    assert not (bias.is_main or bias.distils or bias.varies_images)
    assert bias.on_exemplars and bias.freezes_statistics
    base: Session = dataclasses.replace(session, teacher=None, old_classes=0)
    assert [stage.name for stage in method.stages(base)] == ["main"]
    assert math.isclose(method.weight(session), 2 / 5)
