"""What a worker does with a job: runs it, and answers with its records or with what was wrong."""

from __future__ import annotations

from typing import Any

from remanence.core.errors import Interrupted, RemanenceError
from remanence.engine.run import Place, run
from remanence.experiment import Experiment
from remanence.records import Record

Answer = list[Record] | RemanenceError


def answer(tree: dict[str, Any], place: Place, threads: int) -> Answer:
    """Run an experiment, given as plain values: the user's own choices may not be known here yet.

    threads: where the experiment leaves them open, which says nothing about what is learned. A
    worker that is asked to stop raises Interrupted: the run is saved, and not over.
    """
    import torch

    torch.set_num_threads(threads)
    try:
        return run(Experiment.of(tree), place)
    except Interrupted:
        raise
    except RemanenceError as error:
        return error
