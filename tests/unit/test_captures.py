"""A method that says it captures does the same operations for every batch, and asks no tensor."""

from typing import Any

import made
import pytest
from torch.utils._python_dispatch import TorchDispatchMode

from remanence.core import choices

METHODS = [{"name": name} for name in choices.names("methods")]
WAYS = [*METHODS, {"name": "icarl", "form": "sigmoid"}]
CAPTURING = [way for way in WAYS if choices.choose("methods", way["name"]).captures]
DECIDING = ("_local_scalar_dense", "nonzero", "is_nonzero", "masked_select", "_unique")


class Operations(TorchDispatchMode):
    """Notes the name of every operation, and the shape of what it returns."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[tuple[str, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        returned = func(*args, **(kwargs or {}))
        self.noted.append((str(func), getattr(returned, "shape", None)))
        return returned


@pytest.mark.parametrize("method", CAPTURING, ids=lambda way: "-".join(way.values()))
def test_every_batch_is_the_same_sequence_of_operations(method):
    learner = made.learner({"method": method})
    for number, span in enumerate([(0, 3), (3, 5)]):
        session = learner.meet(made.increment(number, *span))
        if number == 0:
            learner.close(session)
    noted = []
    for batch in list(made.epoch(session.pool, batch_size=4).batches())[:3]:
        out, old = session.network(batch.images), session.teacher(batch.images)
        session.network.zero_grad(set_to_none=True)
        with Operations() as operations:
            losses = learner.experiment.method.classify(out, batch.labels, session)
            terms = learner.experiment.method.preserve(out, old, batch, session)
            (losses.mean() + sum(terms.values())).backward()
        noted.append(operations.noted)
    assert noted[0] == noted[1] == noted[2] != []
    decided = [name for name, _ in noted[0] if any(f"aten.{word}" in name for word in DECIDING)]
    assert decided == []
