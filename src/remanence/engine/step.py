"""One step of gradient descent: the whole of how a method and its effects meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from remanence.core import ranks
from remanence.engine.learner import Learner
from remanence.engine.replay import Replay
from remanence.engine.skipping import Skipping
from remanence.loader import Batch
from remanence.methods.base import Stage
from remanence.network import Network, Output
from remanence.session import Session


class Step:
    """Descends on one batch after the other; on a GPU, replays what it did where it may."""

    def __init__(self, learner: Learner, session: Session, stage: Stage) -> None:
        self._method, self._lenses = learner.experiment.method, learner.lenses
        self._session, self._stage = session, stage
        self._moving: list[nn.Parameter] = list(stage.trained(session.network))
        training = stage.training
        on_gpu = session.pool.device.type == "cuda"
        self.optimiser = torch.optim.SGD(
            self._moving,
            lr=self._as_rate(training.rate_at(0, stage.epochs)),
            momentum=training.momentum or 0.0,
            weight_decay=training.weight_decay or 0.0,
            fused=on_gpu,
        )
        self._descend: Callable[[Batch], Tensor] = self._descend_on
        if training.on_nan == "skip":
            state = (self._moving, self.optimiser, session.network, self._lenses)
            self._descend = Skipping(self._descend_on, *state)
        may_replay = (
            on_gpu and ranks.count() == 1 and self._method.captures and self._lenses.capture
        )
        if may_replay:
            self._descend = Replay(self._descend)

    def __call__(self, batch: Batch) -> Tensor:
        """Take the step; the loss before it, nan where the step was skipped."""
        return self._descend(batch)

    def set_rate(self, rate: float) -> None:
        """The learning rate from now on."""
        for group in self.optimiser.param_groups:
            known = group["lr"]
            if isinstance(known, Tensor) and known.device == self._session.pool.device:
                known.fill_(rate)  # in place: a replayed step reads it there
            else:
                group["lr"] = self._as_rate(rate)

    def load(self, state: dict[str, Any]) -> None:
        """Continue with an optimiser that was saved; JSON made text of its parameter numbers."""
        numbered = {int(key): value for key, value in state["state"].items()}
        self.optimiser.load_state_dict({**state, "state": numbered})

    def _as_rate(self, rate: float) -> Any:
        device = self._session.pool.device
        return torch.tensor(rate, device=device) if device.type == "cuda" else rate

    def _descend_on(self, batch: Batch) -> Tensor:
        session, lenses = self._session, self._lenses
        lenses.before(batch, session)
        out = self._said_by(session.network, batch)
        losses = self._method.classify(out, batch.labels, session)
        loss = lenses.classification(losses, batch, session).mean()
        if session.teacher is not None and self._stage.distils:
            with torch.no_grad():
                old = self._said_by(session.teacher, batch)
            preserved = self._method.preserve(out, old, batch, session)
            loss = self._method.weight(session) * loss + sum(preserved.values())
        loss = sum(lenses.beside(out, batch, session), start=loss)
        session.network.zero_grad(set_to_none=True)
        loss.backward()
        ranks.average_step(self._moving, session.network)
        if self._stage.clamp is not None:
            nn.utils.clip_grad_value_(self._moving, self._stage.clamp)
        self.optimiser.step()
        lenses.watch(out, batch, session)
        return loss.detach()

    def _said_by(self, network: Network, batch: Batch) -> Output:
        return network.of_share(batch.images, len(batch.labels), self._method.compares_maps)
