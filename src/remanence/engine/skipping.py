"""A step whose loss or gradient is not a number is taken back, as if the batch had not come.

All that a step changes is put back as it was by a choice made on the device, so that a GPU need not
be waited for, and may replay the step with the choice in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from remanence.engine.readings import Lenses
from remanence.loader import Batch


class Skipping:
    """Stands in for a step, and gives the loss that the step gives; nan where it was taken back.

    moving: what the step descends on; the optimiser, the network and the lenses remember the rest.
    """

    def __init__(
        self,
        step: Callable[[Batch], Tensor],
        moving: Sequence[nn.Parameter],
        optimiser: torch.optim.Optimizer,
        network: nn.Module,
        lenses: Lenses,
    ) -> None:
        self._step = step
        self._moving, self._optimiser = moving, optimiser
        self._network, self._lenses = network, lenses

    def __call__(self, batch: Batch) -> Tensor:
        """Take the step, and take it back if it must be."""
        before = {name: value.clone() for name, value in self._changed()}
        loss = self._step(batch)
        is_good = self._is_good(loss)
        with torch.no_grad():
            for name, value in self._changed():
                was = before[name] if name in before else torch.zeros_like(value)
                value.copy_(torch.where(is_good, value, was))
        return torch.where(is_good, loss, torch.nan)

    def _is_good(self, loss: Tensor) -> Tensor:
        gradients = [one.grad for one in self._moving if one.grad is not None]
        return torch.stack([one.isfinite().all() for one in (loss, *gradients)]).all()

    def _changed(self) -> Iterator[tuple[str, Tensor]]:
        """What a step changes, by a name that stays; what it makes was nothing before: zeros."""
        for place, parameter in enumerate(self._moving):
            yield f"parameter {place}", parameter.detach()
            velocity = self._optimiser.state.get(parameter, {}).get("momentum_buffer")
            if velocity is not None:
                yield f"velocity {place}", velocity
        yield from self._network.named_buffers()
        yield from self._lenses.tensors()
