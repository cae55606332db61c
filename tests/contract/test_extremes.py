"""Numbers at the ends of what is allowed: what they come to is a finished run, or one line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from short_runs import METHODS, SHORT, Case, refusal

from remanence.core.errors import RemanenceError, SettingsError
from remanence.data.base import Images, Splits
from remanence.data.digits import Digits
from remanence.engine.learner import Learner
from remanence.engine.run import run
from remanence.experiment import Experiment
from remanence.network import Network
from remanence.records import Record
from remanence.stream import make_stream

BOTH = "colliding,momentum"


def finished(folder: Path, **chosen: Any) -> list[Record]:
    return run(Experiment.of(SHORT, {"training": {"epochs": 1}}, chosen), folder)


@pytest.mark.parametrize(
    "chosen",
    [
        {"training": {"rate": 1e-300}},
        {"training": {"weight_decay": 0, "momentum": 0, "rate": 1e-9}},
        {"method": {"name": "lucir", "margin": 0}},
        {"method": {"name": "lucir", "margin": 1e30, "ranking": 0}},
        {"method": {"name": "lucir", "margin": 2}},
        {"method": {"name": "lucir", "less_forget": 0}},
        {"method": {"name": "podnet", "margin": 0}},
    ],
    ids=str,
)
def test_a_run_at_the_edge_ends(chosen: dict[str, Any], tmp_path: Path) -> None:
    records = finished(tmp_path, memory={"per_class": 2}, effects=BOTH, **chosen)
    assert len(records) == 3
    assert all(math.isfinite(one) for record in records for one in record.learned.values())


@pytest.mark.parametrize(
    "chosen",
    [
        {"training": {"rate": 1e38}},
        {"training": {"weight_decay": 1e38}},
        {"method": {"name": "lucir", "ranking": 0}, "training": {"rate": 1e30}},
    ],
    ids=str,
)
def test_beyond_it_a_run_stops_with_the_batch_named(chosen: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(RemanenceError, match=r"increment 0, stage main, epoch 0|weights"):
        finished(tmp_path, **chosen)
    assert not (tmp_path / "checkpoints" / "learner.safetensors").exists()


@pytest.mark.parametrize("key", ["rate", "weight_decay"])
def test_what_no_float32_holds_is_refused(key: str) -> None:
    with pytest.raises(SettingsError, match=rf"training\.{key}: should be less than"):
        Experiment.of(SHORT, {"training": {key: 1e300}})


def smallest_class() -> int:
    stream = make_stream(Digits().load(), Experiment.of(SHORT).resolved().stream)
    return min(count for increment in stream.increments for count in increment.counts)


def test_as_many_may_be_kept_as_a_class_has_and_no_more(tmp_path: Path) -> None:
    size = smallest_class()
    records = finished(tmp_path / "all", method="lucir", memory={"per_class": size})
    assert records[-1].kept["images"] == 7 * size
    with pytest.raises(SettingsError, match=r"memory\.per_class.*keep at most that many"):
        finished(tmp_path / "more", method="lucir", memory={"per_class": size + 1})


def test_a_total_larger_than_all_images_keeps_all_of_them(tmp_path: Path) -> None:
    records = finished(tmp_path, method="lucir", memory={"total": 10**6})
    splits = Digits().load()
    assert records[-1].kept["images"] == int((splits.train.labels < 7).sum())


def test_as_many_neighbours_as_there_are_candidates_and_no_more(tmp_path: Path) -> None:
    stream = make_stream(Digits().load(), Experiment.of(SHORT).resolved().stream)
    most = min(len(increment.train) - 1 for increment in stream.increments[1:])
    every = {"colliding": {"neighbours": most}}
    assert len(finished(tmp_path / "all", method="lucir", effects=every)) == 3
    with pytest.raises(SettingsError, match=rf"offers an image {most} candidates; ask for fewer"):
        finished(tmp_path / "more", effects={"colliding": {"neighbours": most + 1}})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sizes", [[3, 1, 1], [1, 1, 1]], ids=str)
def test_one_class_at_a_time(method: str, sizes: list[int], tmp_path: Path) -> None:
    chosen = {"method": method, "stream": {"sizes": sizes}, "memory": {"per_class": 3}}
    refused = refusal(Case.of("one", **chosen, effects=BOTH))
    if refused is not None:
        pytest.skip(refused)
    records = finished(tmp_path, **chosen, effects=BOTH)
    assert [record.group_sizes for record in records][-1] == tuple(sizes)


def test_fifty_increments(tmp_path: Path) -> None:
    """T = 50: 51 increments of one class each, of three images that are made."""
    pixels = torch.randint(256, (51 * 3, 1, 8, 8), generator=torch.Generator().manual_seed(0))
    images = Images(pixels.to(torch.uint8), torch.arange(51).repeat_interleave(3))
    test = torch.arange(len(images)) % 3 == 2
    splits = Splits(images[~test], images[test], tuple(f"class {n}" for n in range(51)))
    chosen = {"stream": {"sizes": [1] * 51}, "method": "lucir", "memory": {"per_class": 1}}
    effects = {"colliding": {"neighbours": 1}}
    experiment = Experiment.of(SHORT, {"training": {"epochs": 1}}, chosen, {"effects": effects})
    records = run(experiment, tmp_path, splits=splits)
    assert len(records) == 51 and records[-1].kept["images"] == 51
    assert all(one >= 0 for record in records for one in record.readings["cnn"])


def test_bfloat16_says_nearly_what_float32_does(tmp_path: Path) -> None:
    """Of one trained network; bounds are some ten times the 2^-9 to which bfloat16 rounds."""
    experiment = Experiment.of(SHORT, {"backbone": "resnet32", "stream": {"sizes": [5]}})
    run(experiment, tmp_path)
    splits = Digits().load()
    learner = Learner(experiment.resolved(), splits.train, splits.mean_image, torch.device("cpu"))
    stream = make_stream(splits, experiment.resolved().stream)
    learner.meet(stream.increments[0])
    from remanence.engine.diary import LEARNER, read_checkpoint

    learner.load(read_checkpoint(tmp_path / LEARNER))
    pool = learner.pool(stream.increments[0].test)
    exact, rough = (_said(learner.network, pool, one) for one in ("float32", "bfloat16"))
    assert not torch.equal(exact.logits, rough.logits)
    assert (exact.features - rough.features).abs().max() < 0.02 * exact.features.abs().max()
    assert (exact.logits - rough.logits).abs().max() < 0.02 * exact.logits.abs().max()
    same = (exact.logits.argmax(1) == rough.logits.argmax(1)).float().mean()
    assert same > 0.98


def _said(network: Network, pool: Any, precision: str) -> Any:
    network.precision = precision
    return pool.outputs(network, pool.everything)
