"""The program that disturbs runs, with a few faults of each kind; see docs/reliability.md."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from faults import company, damage, disks, kills
from faults.subject import DIGITS, Subject
from faults.tally import Tally


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    subject = Subject(DIGITS, tmp_path_factory.mktemp("torture") / "undisturbed")
    assert subject.done(subject.undisturbed).code == 0
    return subject


@pytest.fixture
def tally() -> Iterator[Tally]:
    tally = Tally()
    yield tally
    total = tally.tree()["total"]
    assert total["tried"] and not total["lost"], tally.wrong


def test_kills_at_every_kind_of_moment(subject: Subject, tmp_path: Path, tally: Tally) -> None:
    kills.kills(subject, len(kills.AIMS), tmp_path, tally, random.Random(7))


def test_disks_that_are_full_or_may_only_be_read(
    subject: Subject, tmp_path: Path, tally: Tally
) -> None:
    disks.full(subject, 1, tmp_path, tally, random.Random(7))
    disks.read_only(subject, 1, tmp_path, tally)


def test_damage_and_clocks(subject: Subject, tmp_path: Path, tally: Tally) -> None:
    damage.damage(subject, 1, tmp_path, tally, random.Random(7))
    company.wrong_clocks(subject, 1, tmp_path, tally, random.Random(7))


def test_a_loss_is_told_of(subject: Subject, tmp_path: Path) -> None:
    """The program itself: where the undisturbed run differs, each fault is a loss."""
    other = Subject((*DIGITS, "seed=7"), subject.undisturbed)
    tally = Tally()
    company.two_at_once(other, 1, tmp_path, tally)
    assert tally.tree()["total"]["lost"] == 1 and "differs" in tally.wrong[0]
