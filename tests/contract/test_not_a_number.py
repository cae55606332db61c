"""A batch whose loss is not a number: the run stops at it, or goes on as if it had not come."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from short_runs import SHORT, Cut, CutAt, contents
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from remanence.core import archive
from remanence.core.errors import RemanenceError
from remanence.engine.readings import Lenses
from remanence.engine.run import Place, run
from remanence.engine.skipping import Skipping
from remanence.engine.step import Step
from remanence.experiment import Experiment
from remanence.loader import Batch
from remanence.run_folder import read_log
from remanence.session import Session

LUCIR = {"method": "lucir", "effects": "colliding,momentum", "memory": {"per_class": 2}}
SKIP = {"training": {"on_nan": "skip"}}
Spoil = Callable[[Tensor], Tensor]
shown = Lenses.classification


def loss(losses: Tensor) -> Tensor:
    return losses * torch.nan


def gradient(losses: Tensor) -> Tensor:
    """The loss stays what it is; the square root has no slope at 0."""
    return losses + 0 * (losses - losses.detach()).abs().sqrt()


def is_bad(batch: Batch) -> bool:
    return int(batch.indices[0]) % 3 == 0


@pytest.fixture
def spoiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[Spoil, Callable[[Batch], bool]], None]:
    """Spoil some batches, which ones being a function of what is in them."""

    def spoil(how: Spoil, which: Callable[[Batch], bool] = is_bad) -> None:
        def classification(
            lenses: Lenses, losses: Tensor, batch: Batch, session: Session
        ) -> Tensor:
            losses = shown(lenses, losses, batch, session)
            return how(losses) if which(batch) else losses

        monkeypatch.setattr(Lenses, "classification", classification)

    return spoil


@pytest.mark.parametrize("how", [loss, gradient])
def test_bad_batches_are_skipped_noted_and_counted(
    how: Spoil, spoiled: Callable[..., None], tmp_path: Path
) -> None:
    spoiled(how)
    records = run(Experiment.of(SHORT, LUCIR, SKIP), tmp_path)
    events = [event for event in read_log(tmp_path) if event["event"] == "epoch"]
    counted = [0, 0, 0]
    for event in events:
        counted[event["increment"]] += len(event.get("skipped", ()))
        assert event["loss"] > 0
    assert [record.skipped for record in records] == counted
    assert sum(counted) >= 3
    learned = archive.load(tmp_path / "checkpoints" / "learner.safetensors")
    assert all(bool(one.isfinite().all()) for one in learned["network"].values())
    assert all(abs(number) < 10 for number in records[-1].learned.values())


@pytest.mark.parametrize("how", [loss, gradient])
def test_a_skipped_batch_leaves_everything_as_it_was(
    how: Spoil, spoiled: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoiled(how)
    checked = []
    take = Step.__call__

    def watched(step: Step, batch: Batch) -> Tensor:
        before = _all_of(step)
        loss = take(step, batch)
        if is_bad(batch):
            after = _all_of(step)
            assert before.keys() <= after.keys()
            assert all(torch.equal(after[name], value) for name, value in before.items())
            assert not any(after[name].any() for name in after.keys() - before.keys())
            assert loss.isnan()
            checked.append(batch)
        return loss

    monkeypatch.setattr(Step, "__call__", watched)
    run(Experiment.of(SHORT, LUCIR, SKIP), tmp_path)
    assert len(checked) >= 3


def _all_of(step: Step) -> dict[str, Tensor]:
    network, lenses = step._session.network, step._lenses
    weights = {name: value.clone() for name, value in network.state_dict().items()}
    momenta = {
        f"{place} {name}": value.clone()
        for place, state in step.optimiser.state_dict()["state"].items()
        for name, value in state.items()
        if value is not None
    }
    return weights | momenta | {name: value.clone() for name, value in lenses.tensors()}


@pytest.mark.parametrize(("increment", "step"), [(0, 1), (1, 3), (2, 4)])
def test_a_run_that_skips_is_cut_and_goes_on_with_the_same_bits(
    increment: int, step: int, spoiled: Callable[..., None], tmp_path: Path
) -> None:
    spoiled(loss)
    experiment = Experiment.of(SHORT, LUCIR, SKIP)
    run(experiment, tmp_path / "whole")
    with pytest.raises(Cut):
        run(experiment, Place(tmp_path / "cut", save_every=0), CutAt(increment, step))
    run(experiment, tmp_path / "cut")
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")
    assert _losses(tmp_path / "cut") == _losses(tmp_path / "whole")


def _losses(folder: Path) -> list[float]:
    return [event["loss"] for event in read_log(folder) if event["event"] == "epoch"]


def test_where_nothing_is_bad_skipping_changes_no_bit(tmp_path: Path) -> None:
    for name, chosen in (("stop", {}), ("skip", SKIP)):
        run(Experiment.of(SHORT, LUCIR, chosen), tmp_path / name)
    stop, skip = contents(tmp_path / "stop"), contents(tmp_path / "skip")
    assert stop["records.jsonl"] == skip["records.jsonl"]
    one, other = (
        archive.load(tmp_path / name / "checkpoints" / "learner.safetensors")["network"]
        for name in ("stop", "skip")
    )
    assert all(torch.equal(value, other[name]) for name, value in one.items())


def test_the_base_that_others_share_says_what_was_skipped(
    spoiled: Callable[..., None], tmp_path: Path
) -> None:
    spoiled(loss)
    for name in ("first", "second"):
        experiment = Experiment.of(SHORT, LUCIR, SKIP)
        records = run(experiment, Place(tmp_path / name, bases=tmp_path / "bases"))
        assert records[0].skipped > 0
    assert contents(tmp_path / "first") == contents(tmp_path / "second")


@pytest.mark.parametrize("chosen", [{}, SKIP], ids=["stop", "skip"])
def test_the_batch_is_named_and_the_last_good_checkpoint_kept(
    chosen: dict[str, object], spoiled: Callable[..., None], tmp_path: Path
) -> None:
    spoiled(loss, lambda batch: batch.epoch.purpose[0] == 1)
    with pytest.raises(RemanenceError) as error:
        run(Experiment.of(SHORT, LUCIR, chosen), Place(tmp_path, save_every=0))
    line = str(error.value)
    assert "in increment 1, stage main, epoch 0" in line and "training.rate" in line
    assert ("every batch" if chosen else "batch 0") in line
    assert ("on_nan=skip" in line) != bool(chosen)
    spoiled(lambda losses: losses)
    assert len(run(Experiment.of(SHORT, LUCIR, chosen), tmp_path)) == 3


def test_weights_that_a_gradient_has_spoiled_are_never_saved(
    spoiled: Callable[..., None], tmp_path: Path
) -> None:
    """The loss of the batch was a number, so that only the weights tell."""
    spoiled(gradient)
    with pytest.raises(RemanenceError, match="weights are not numbers any more in increment 0"):
        run(Experiment.of(SHORT, LUCIR), Place(tmp_path, save_every=0))
    session = tmp_path / "checkpoints" / "session.safetensors"
    if session.exists():
        saved = archive.load(session)["network"]
        assert all(bool(one.isfinite().all()) for one in saved.values())


def test_the_choice_is_made_on_the_device() -> None:
    """What a GPU records must not ask for a value; stand-ins for tensors have none to give."""
    with FakeTensorMode():
        network = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        moving = list(network.parameters())
        optimiser = torch.optim.SGD(moving, lr=0.1, momentum=0.9)

        def step(batch: Tensor) -> Tensor:
            loss = network(batch).square().mean()
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            return loss.detach()

        skipping = Skipping(step, moving, optimiser, network, _Nothing())  # type: ignore[arg-type]
        for _ in range(2):
            assert skipping(torch.rand(4, 3)).shape == ()  # type: ignore[arg-type]


@dataclasses.dataclass
class _Nothing:
    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        return iter(())
