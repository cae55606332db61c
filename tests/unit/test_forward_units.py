"""What an epoch costs is counted, not timed: how many images go through which network, and how."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import made
import pytest
import torch

from remanence.engine.learner import Learner
from remanence.session import Session

OFFICIAL = {"source": "fresh", "graph": "epoch", "neighbours": 3}
EPOCHS = 2


def session_of(effects: Any, per_class: int = 6) -> tuple[Learner, Session]:
    """The second of two increments, in which 2 x 6 images and 3 x 2 exemplars are learned."""
    learner = made.learner({"effects": effects, "training": {"epochs": EPOCHS}})
    base = learner.meet(made.increment(0, 0, 3))
    learner.close(base)
    return learner, learner.meet(made.increment(1, 3, 5, per_class))


@dataclasses.dataclass
class Units:
    """Images that went through a network: with gradient, in training mode without, in eval mode."""

    trained: int = 0
    run: int = 0
    asked: int = 0

    def watch(self, trunk: torch.nn.Module) -> Units:
        def count(module: torch.nn.Module, images: Any, seen: Any) -> None:
            mode = "asked" if not module.training else "run"
            mode = "trained" if torch.is_grad_enabled() and module.training else mode
            setattr(self, mode, getattr(self, mode) + len(images[0]))

        trunk.register_forward_hook(count)
        return self


def counted(effects: Any, folder: Path) -> tuple[int, Units, Units]:
    """Images of a pool, and what a session of two epochs makes of network and teacher."""
    learner, session = session_of(effects)
    assert session.teacher is not None
    network = Units().watch(session.network.trunk)
    teacher = Units().watch(session.teacher.trunk)
    made.fit(learner, session, folder)
    return len(session.pool), network, teacher


@pytest.mark.parametrize("neighbours", [1, 8])
def test_an_epoch_of_dde_costs_what_lucir_costs(neighbours: int, tmp_path: Path) -> None:
    """With the bank 4 units an image, at any K; beyond that one look at the pool in a session."""
    count, network, teacher = counted("", tmp_path / "lucir")
    assert network == Units(trained=EPOCHS * count)
    assert teacher == Units(asked=EPOCHS * count)
    dde = {"colliding": {"neighbours": neighbours}, "momentum": {}}
    count, network, teacher = counted(dde, tmp_path / "dde")
    assert network == Units(trained=EPOCHS * count, asked=count)
    assert teacher == Units(asked=EPOCHS * count + count)


def test_the_official_procedure_costs_its_neighbours(tmp_path: Path) -> None:
    count, network, teacher = counted({"colliding": OFFICIAL}, tmp_path)
    assert network == Units(trained=EPOCHS * count, run=EPOCHS * count * OFFICIAL["neighbours"])
    assert teacher == Units(asked=2 * EPOCHS * count)  # for the graph, and for the distillation


@pytest.mark.parametrize("graph", ["session", "epoch"])
def test_a_whole_session_makes_no_table_of_all_pairs(graph: str, tmp_path: Path) -> None:
    effects = {"colliding": {"graph": graph}, "momentum": {}}
    learner, session = session_of(effects, per_class=1000)
    count = len(session.pool)
    training = dataclasses.replace(session.training, batch=256)
    session = dataclasses.replace(session, training=training)
    with made.LargestTensor() as largest:
        made.fit(learner, session, tmp_path)
    assert largest.nbytes < count * count  # a quarter of such a table, in float32
