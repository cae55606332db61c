"""Two processes learn one network: what one process would, whatever happens to one of them."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch
from commands import BRIEF, Here, check_one_line, child, contents, wait_for_start

from remanence.core import archive

NO_BATCH_NORM = (
    "stream.sizes=3,2,2",
    "training.epochs=2",
    "training.batch=33",
    "memory.per_class=2",
    "backbone=own_module",
    "backbone.path=plain_trunk:PlainTrunk",
    "machine.precision=float32",
)
COUNT = 2


def ranks(words: Sequence[str], folder: Path, errors: Path) -> list[BaseProcess]:
    """As torchrun starts them; what each says is in a file of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    together = {"WORLD_SIZE": str(COUNT), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    said = [_said(errors, rank) for rank in range(COUNT)]
    return [
        child(
            ["run", *words, "--quiet", "--out", str(folder)],
            said[rank],
            environment=together | {"RANK": str(rank)},
        )
        for rank in range(COUNT)
    ]


def ended(processes: list[BaseProcess]) -> list[int | None]:
    for process in processes:
        process.join(60)
        process.kill()
    return [process.exitcode for process in processes]


def _said(errors: Path, rank: int) -> Path:
    return errors.with_name(f"{errors.name}-{rank}")


@pytest.fixture
def plain_trunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network without batch norm, so that shares of a batch say what the whole one would."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)


def test_two_ranks_learn_what_one_process_does(
    tmp_path: Path, here: Here, plain_trunk: None
) -> None:
    words = ["digits-lucir-dde", *NO_BATCH_NORM]
    assert ended(ranks(words, tmp_path / "two", tmp_path / "said")) == [0, 0]
    assert here("run", *words, "--quiet", "--out", str(tmp_path / "one")).code == 0
    one, two = (
        archive.load(tmp_path / name / "checkpoints" / "learner.safetensors")
        for name in ("one", "two")
    )
    assert torch.equal(one["exemplars"]["pixels"], two["exemplars"]["pixels"])
    for name, weights in one["network"].items():
        assert torch.allclose(weights, two["network"][name], atol=1e-5), name
    assert "average" in _said(tmp_path / "said", 0).read_text()
    assert _said(tmp_path / "said", 1).read_text() == ""


# PODNet's terms need the maps of the whole batch as well.
WORDS = ("digits-lucir-dde", "method=podnet", *BRIEF, "--save-every", "0.05")


@pytest.fixture(scope="module")
def undisturbed_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    assert ended(ranks(WORDS, folder / "run", folder / "said")) == [0, 0]
    return folder / "run"


@pytest.mark.parametrize("victim", range(COUNT))
def test_when_one_rank_is_killed_the_run_ends_and_goes_on(
    victim: int, tmp_path: Path, undisturbed_ranks: Path
) -> None:
    folder, said = tmp_path / "run", tmp_path / "said"
    processes = ranks(WORDS, folder, said)
    wait_for_start(folder)
    processes[victim].join(0.4)
    processes[victim].kill()
    codes = ended(processes)
    assert codes[victim] == -signal.SIGKILL, "it did not come too late"
    assert codes[1 - victim] == 1
    (line,) = _said(said, 1 - victim).read_text().splitlines()[-1:]
    assert "another process of this run has stopped" in line
    assert ended(ranks(WORDS, folder, said)) == [0, 0]
    assert contents(folder) == contents(undisturbed_ranks)


def test_a_signal_to_one_rank_stops_both_after_the_same_step(
    tmp_path: Path, undisturbed_ranks: Path
) -> None:
    folder, said = tmp_path / "run", tmp_path / "said"
    processes = ranks(WORDS, folder, said)
    wait_for_start(folder)
    processes[1].join(0.3)
    processes[1].terminate()
    assert ended(processes) == [128 + signal.SIGTERM] * COUNT
    assert ended(ranks(WORDS, folder, said)) == [0, 0]
    assert contents(folder) == contents(undisturbed_ranks)


def test_more_ranks_than_were_started_are_one_line(tmp_path: Path, here: Here) -> None:
    outcome = here("run", *WORDS, "machine.ranks=3", "--quiet", "--out", str(tmp_path / "run"))
    assert "torchrun --nproc-per-node 3" in check_one_line(outcome, 2)
