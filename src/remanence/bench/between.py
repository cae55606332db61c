"""What happens between two increments, as parts of a session of 160 epochs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

from remanence.bench.base import Bench, Benchmark, Row, Spread, at_most
from remanence.bench.shared.scene import DDE, Running, Scene
from remanence.bench.shared.sides import timed
from remanence.core.settings import settings
from remanence.engine.evaluate import evaluate
from remanence.session import Session

EPOCHS, TWENTY, STEPS, TURNS = 160, {"memory": {"per_class": 20}}, 10, 3


@settings
class Between(Benchmark):
    """Of the last increment, where most classes are known: LUCIR+DDE with twenty exemplars."""

    def rows(self, bench: Bench) -> Iterator[Row]:
        scene = Scene(bench, DDE, TWENTY)
        running = scene.running(before_last=True)
        epoch = _epoch(bench, running)
        yield Row(
            "a session, calculated from an epoch",
            Spread.of([EPOCHS * epoch]),
            "s",
            note=f"{EPOCHS} epochs of {epoch:.2f} s",
        )
        for what, seconds in _parts(bench, scene, running.fit.session):
            share = Spread.of(seconds).times(100 / (EPOCHS * epoch))
            note = f"{median(seconds):.2f} s"
            yield Row(what, share, "% of a session", target=at_most(2), note=note)


def _epoch(bench: Bench, running: Running) -> float:
    """Seconds of one, from some of its steps."""
    steps = 2 if bench.quick else STEPS
    turns = range(bench.turns(TURNS))
    found = [timed(lambda: running.advance(steps), bench.device) for _ in turns]
    return median(found) / steps * running.epoch


def _parts(bench: Bench, scene: Scene, session: Session) -> Iterator[tuple[str, list[float]]]:
    learner, network = scene.learner, session.network
    method, known = learner.experiment.method, range(session.old_classes, session.classes)

    def turns(part: Callable[[], object]) -> list[float]:
        return [timed(part, bench.device) for _ in range(bench.turns(TURNS))]

    def once(part: Callable[[], object]) -> list[float]:
        return [timed(part, bench.device)]

    yield "the teacher's copy", turns(network.frozen)
    yield "imprinting", turns(lambda: method.rows(network, session.pool, known))
    yield "DCE: neighbours and bank", turns(lambda: learner.lenses.acting[0].begin(session))
    yield "herding", turns(lambda: method.remember(session))
    learner.exemplars = method.remember(session)
    kept = learner.pool(learner.exemplars)
    settling = once(lambda: learner.lenses.settle(session, kept))
    yield "MER's alpha and beta, class means", settling
    yield "evaluation, all readings", turns(lambda: evaluate(learner, scene.known()))
    record, named = evaluate(learner, scene.known())
    closing = once(lambda: scene.diary.close_increment(learner, record, named))
    yield "checkpoint, records, predictions", closing
