"""Which runs a table needs, which of them are there, and how long the others take."""

from __future__ import annotations

import dataclasses

import pytest
from made_ledger import entry

from remanence.core.origin import processor
from remanence.core.progress import Progress
from remanence.experiment import Experiment
from remanence.reproduce.cost import Estimator, work_of
from remanence.reproduce.ledger import Ledger
from remanence.reproduce.paper import tables
from remanence.reproduce.plan import Demand, planned
from remanence.reproduce.runs import missing, run_missing

FIXED = {"machine": {"device": "cpu", "precision": "float32", "kernels": "plain"}}


@pytest.fixture
def nothing(tmp_path) -> Ledger:
    return Ledger(tmp_path / "ledger")


def test_each_training_once_however_many_cells_are_read_off_it(nothing):
    part = tables()["components"].part(["lucir*", "forgetting-lucir*"], ["r5"])
    plans = planned(part, Demand(), nothing)
    assert len(list(part.cells)) == 8
    assert [len(plan.cells) for plan in plans] == [4, 4]  # with and without DCE
    assert [plan.readings for plan in plans] == [{"cnn", "cnn+momentum"}] * 2


def test_every_seed_is_a_run_and_the_machine_is_laid_over_all(nothing):
    part = tables()["components"].part(["lucir"])
    plans = planned(part, Demand(seeds=(1, 2), settings=FIXED), nothing)
    assert sorted((p.experiment.seed, p.experiment.memory.per_class) for p in plans) == [
        (seed, kept) for seed in (1, 2) for kept in (5, 10, 20)
    ]
    assert len({plan.name for plan in plans}) == 6
    assert {plan.experiment.machine.precision for plan in plans} == {"float32"}


def test_a_scale_shortens_base_and_increments_alike(nothing):
    part = tables()["components"].part(["lucir"], ["r5"])
    for scale, epochs in ((0.25, 40), (0.001, 1), (1, 160)):
        (plan,) = planned(part, Demand(epochs_scale=scale), nothing)
        training = plan.experiment.resolved().training
        assert (training.epochs, training.base_epochs) == (epochs, epochs)


def test_what_the_ledger_has_is_not_run_again(nothing):
    part = tables()["components"].part(["lucir", "lucir-mer"], ["r5"])
    (plan,) = planned(part, Demand(), nothing)
    assert missing([plan]) == [plan]
    right = {"cnn": [[50.0] * (t + 1) for t in range(6)]}
    nothing.add(entry(plan.experiment, right))
    assert missing(planned(part, Demand(), nothing)), "only one of its two readings is there"
    nothing.add(entry(plan.experiment, right | {"cnn+momentum": right["cnn"]}, name="both"))
    assert not missing(planned(part, Demand(), nothing))
    assert missing(planned(part, Demand(seeds=(4,)), nothing))
    assert missing(planned(part, Demand(epochs_scale=0.5), nothing))


def test_work_is_that_of_the_pools():
    """CIFAR-100, T = 5, R = 20, counted as in the training notes: 160 epochs of 6000..6800."""
    cell = next(iter(tables()["components"].part(["lucir"], ["r20"]).cells))
    base, later = work_of(cell.experiment.resolved())
    assert (base.trained, base.seen) == (160 * 25_000, 0)
    assert later.trained == later.seen == 160 * (6000 + 6200 + 6400 + 6600 + 6800)


def test_neighbours_that_run_through_the_network_are_paid_for():
    rows = tables()["weights"].part(["top10", "top10-official"], ["r5"])
    bank, official = (work_of(cell.experiment.resolved())[1] for cell in rows.cells)
    assert official.trained == bank.trained
    assert official.seen == 11 * bank.seen
    through = Experiment.of(
        next(iter(rows.cells)).experiment.tree(),
        {"effects": {"colliding": {"source": "through", "neighbours": 2}}},
    )
    assert work_of(through.resolved())[1].trained == 3 * bank.trained


def test_a_base_is_paid_for_once(nothing):
    estimator = Estimator(nothing)
    small = FIXED | {"backbone": {"name": "convnet", "width": 4}}
    part = tables()["components"].part(["lucir*"])
    plans = planned(part, Demand(epochs_scale=0.01, settings=small), nothing)
    estimates = [estimator.estimate(plan.experiment) for plan in plans]
    assert [one.base > 0 for one in estimates] == [True] + [False] * (len(plans) - 1)
    assert all(one.increments > 0 for one in estimates)
    assert {one.source for one in estimates} == {"measured now on a few steps"}


def test_runs_on_this_processor_tell_the_pace(nothing):
    (plan,) = planned(tables()["components"].part(["lucir"], ["r5"]), Demand(), nothing)
    device = plan.experiment.machine.prepare()
    machine = {"processor": processor(device), "precision": "float32"}
    made = entry(plan.experiment, seconds={"base": None, "increments": 1000.0}, machine=machine)
    nothing.add(made)
    again = dataclasses.replace(plan.experiment, seed=5)
    estimate = Estimator(nothing).estimate(again)
    assert estimate.source == "from 1 runs in the ledger on this processor"
    assert estimate.increments == pytest.approx(1000.0)


class Cut(Exception):
    """The process ends here."""


class CutLater(Progress):
    """Ends it after some steps, or never."""

    def __init__(self, left: float) -> None:
        self.left = left

    def stepped(self, steps: int = 1) -> None:
        self.left -= steps
        if self.left < 0:
            raise Cut


def test_runs_that_were_cut_go_on_and_what_is_there_is_left_alone(nothing, tmp_path):
    short = FIXED | {
        "data": "digits",
        "backbone": {"name": "convnet", "width": 4},
        "stream": {"sizes": (3, 2, 2), "order": "natural"},
        "training": {"epochs": 2, "base_epochs": 2, "batch": 64, "augmentation": "digits"},
    }
    part = tables()["components"].part(["lucir", "lucir-dce"], ["r5"])
    plans = planned(part, Demand(settings=short), nothing)
    with pytest.raises(Cut):
        run_missing(plans, tmp_path, nothing, lambda plan: CutLater(15))
    assert len(list(nothing)) == 0
    with pytest.raises(Cut):  # the first goes on to its end, the second is cut
        run_missing(plans, tmp_path, nothing, lambda plan: CutLater(15 + 99 * (plan is plans[0])))
    assert len(list(nothing)) == 1
    again = planned(part, Demand(settings=short), nothing)
    assert [plan.is_measured for plan in again] == [True, False]
    run_missing(again, tmp_path, nothing, lambda plan: Progress())
    assert len(list((tmp_path / "bases").glob("*.safetensors"))) == 1
    alone = Ledger(tmp_path / "alone")
    run_missing(plans, tmp_path / "whole", alone, lambda plan: Progress())
    assert [one.right for one in alone] == [one.right for one in nothing]
