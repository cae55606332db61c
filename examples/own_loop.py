"""A training loop of one's own: gradient clipping, which no setting offers.

Whoever needs another loop (gradient surgery, meta-learning) starts from these lines; streams,
effects, exemplars, readings and metrics stay what they are.

    python examples/own_loop.py
"""

from __future__ import annotations

import torch

from remanence import Experiment, readings, summarise
from remanence.engine.evaluate import evaluate
from remanence.engine.learner import Learner
from remanence.loader import Epoch
from remanence.session import Session
from remanence.stream import make_stream

LARGEST_STEP = 1.0


def train(learner: Learner, session: Session) -> None:
    """Every stage of a session, with the norm of the gradient limited."""
    method, lenses, network = learner.experiment.method, learner.lenses, session.network
    lenses.begin(session)
    for stage in method.stages(session):
        moving = list(stage.trained(network))
        optimiser = torch.optim.SGD(moving, lr=0.1, momentum=0.9, weight_decay=5e-4)
        members = stage.members(session, session.pool)
        for number in range(stage.epochs):
            optimiser.param_groups[0]["lr"] = stage.training.rate_at(number, stage.epochs)
            purpose = (session.increment, stage.name, number)
            epoch = Epoch(session.pool, members, 32, session.seed, purpose, stage.is_main)
            lenses.begin_epoch(epoch, session)
            network.train()
            for batch in epoch.batches():
                lenses.before(batch, session)
                out = network(batch.images)
                losses = method.classify(out, batch.labels, session)
                loss = lenses.classification(losses, batch, session).mean()
                if session.teacher is not None:
                    with torch.no_grad():
                        old = session.teacher(batch.images)
                    loss = loss + sum(method.preserve(out, old, batch, session).values())
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(moving, LARGEST_STEP)
                optimiser.step()
                lenses.watch(out, batch, session)


def main(epochs: int = 10) -> None:
    """LUCIR+DDE on the digits, without exemplars, through the loop above."""
    experiment = Experiment.of(
        {
            "method": {"name": "lucir", "less_forget": 3},
            "effects": "colliding,momentum",
            "memory": {"per_class": 0},
            "training": {"epochs": epochs},
        }
    ).resolved()
    splits = experiment.data.load()
    increments = make_stream(splits, experiment.stream).increments
    learner = Learner(experiment, splits.train, splits.mean_image, experiment.machine.prepare())
    records = []
    for increment in increments:
        session = learner.meet(increment)
        train(learner, session)
        learner.close(session)
        records.append(evaluate(learner, increments[: increment.number + 1])[0])
    for name in readings(records):
        print(f"{name:32} {summarise(records, name).average_accuracy:5.1f}")


if __name__ == "__main__":
    main()
