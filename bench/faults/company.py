"""Several processes on one folder, several that learn together, and a clock that is wrong."""

from __future__ import annotations

import random
import socket
import time
from pathlib import Path

from faults.subject import Subject
from faults.tally import Tally

CENTURY = 100 * 365 * 24 * 3600


def two_at_once(subject: Subject, count: int, where: Path, tally: Tally) -> None:
    """Two processes are started in one folder: one works there, the other is refused."""
    kind = "two processes in one folder"
    for number in range(count):
        folder = where / f"two-{number}"
        with tally.watched(kind):
            ends = [one.ended() for one in [subject.start(folder), subject.start(folder)]]
            codes = sorted(end.code for end in ends)
            assert codes in ([0, 0], [0, 4]), [end.last for end in ends]
            for end in ends:
                assert end.code == 0 or (end.refused and "another process" in end.last), end.last
            assert subject.same(folder), "the end differs"
            tally.count(kind, "refused" if 4 in codes else "survived")


def wrong_clocks(
    subject: Subject, count: int, where: Path, tally: Tally, chance: random.Random
) -> None:
    """The clock jumps each time the run is cut; only the log has times in it."""
    kind = "a clock that jumps"
    for number in range(count):
        folder = where / f"clock-{number}"
        with tally.watched(kind):
            process = subject.start(folder, "--save-every", "0", clock=chance.randrange(CENTURY))
            process.process.join(chance.uniform(0.1, 0.6))
            process.killed()
            end = subject.done(folder, clock=-chance.randrange(CENTURY // 2))
            assert end.code == 0, end.last
            assert subject.same(folder), "the end differs"
            tally.count(kind, "survived")


def dead_ranks(
    subject: Subject, count: int, where: Path, tally: Tally, chance: random.Random
) -> None:
    """One of two processes that learn together is killed: the other ends, and both go on."""
    kind = "one rank of two is killed"
    together = Subject(subject.words, where / "ranks")
    assert [end.code for end in _pair(together, together.undisturbed)] == [0, 0]
    for number in range(count):
        folder, victim = where / f"ranks-{number}", number % 2
        with tally.watched(kind):
            ends = _pair(together, folder, victim, chance.uniform(0, 2))
            assert ends[victim].code == -9 or ends[victim].code == 0
            other = ends[1 - victim]
            assert other.code in (0, 1) and "Traceback" not in other.said, other.said
            if other.code == 1:
                assert "the same command goes on" in other.last, other.last
            again = _pair(together, folder)
            assert [end.code for end in again] == [0, 0], [end.last for end in again]
            assert together.same(folder), "the end differs"
            tally.count(kind, "refused" if other.code else "survived")


def _pair(subject: Subject, folder: Path, victim: int | None = None, after: float = 0.0) -> list:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    world = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    ranks = [
        subject.start(folder, "--save-every", "0.05", environment=world | {"RANK": str(rank)})
        for rank in range(2)
    ]
    if victim is not None:
        _wait_for_start(folder)
        ranks[victim].process.join(after)
        ranks[victim].killed()
    return [rank.ended() for rank in ranks]


def _wait_for_start(folder: Path) -> None:
    end = time.monotonic() + 60
    while not (folder / "log.jsonl").exists() and time.monotonic() < end:
        time.sleep(0.005)
