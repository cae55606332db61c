"""The rivals of `remanence learn` in the bench: what they come to where it is known."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
import torch

from remanence.learning import Labelled

BENCH = runpy.run_path(str(Path(__file__).parents[2] / "bench" / "birds.py"))
GROUPS = [range(2), range(2, 3), range(3, 4)]


def blobs(seed: int) -> Labelled:
    """Four classes far apart, twenty of each."""
    chance = torch.Generator().manual_seed(seed)
    labels = torch.arange(4).repeat_interleave(20)
    return Labelled(5 * torch.eye(6)[labels] + torch.randn(80, 6, generator=chance) / 4, labels)


@pytest.fixture
def rivals() -> Any:
    return BENCH["Rivals"](blobs(0), blobs(1), GROUPS)


@pytest.mark.parametrize("name", ["means", "joint"])
def test_means_and_the_joint_probe_forget_nothing_that_is_far_apart(name: str, rivals: Any) -> None:
    assert BENCH[name](rivals) == [[100], [100, 100], [100, 100, 100]]


def test_a_finetuned_head_forgets_what_is_not_kept(rivals: Any) -> None:
    forgotten, kept = (BENCH["finetuned"](rivals, keep) for keep in (0, 10))
    assert kept[-1] == [100, 100, 100]
    assert forgotten[-1][-1] == 100
    assert forgotten[-1][0] < 100 and forgotten[0] == [100]


def test_the_summary_weighs_by_photographs() -> None:
    found = BENCH["summary"]([[90.0], [80.0, 70.0], [60.0, 50.0, 40.0]], [10, 30, 60])
    assert found == {"first": 90, "last": 45, "lost": pytest.approx((10 * 30 + 30 * 20) / 40)}
