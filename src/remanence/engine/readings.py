"""One training, every reading: the ways in which one trained network is read at prediction.

A reading is a chain of lenses. Effects that act only at prediction are read with and without, and
in their variants; a rule that ignores the logits (nearest mean) is read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from remanence.core.errors import SettingsError
from remanence.effects.base import Effect, Lens
from remanence.experiment import Experiment
from remanence.heads import Head
from remanence.loader import Batch, Epoch, Pool
from remanence.network import Output
from remanence.session import Session


def chains(experiment: Experiment) -> dict[str, tuple[Effect, ...]]:
    """The prediction effects of each reading, by name; the experiment's own reading is first."""
    chosen = tuple(effect for effect in experiment.effects if not effect.acts_in_training)
    found: dict[str, tuple[Effect, ...]] = {}
    for rule, own in experiment.method.rules().items():
        if chosen and not any(effect.replaces_logits for effect in own):
            found["+".join([rule, *(effect.name for effect in chosen)])] = (*chosen, *own)
            for effect in chosen:
                for variant, other in effect.variants().items():
                    name = f"{rule}+{effect.name}.{variant}"
                    found[name] = (*(other if e is effect else e for e in chosen), *own)
        found[rule] = own
    return found


def check(experiment: Experiment, classes: int) -> None:
    """Raise a SettingsError where an effect at prediction would never be seen."""
    chosen = [effect for effect in experiment.effects if not effect.acts_in_training]
    alone = next((effect for effect in chosen if effect.replaces_logits), None)
    others = [effect.name for effect in chosen if effect is not alone]
    if alone and others:
        raise SettingsError(
            f"effects.{alone.name}: it predicts from features alone, where {others[0]} has no "
            f"logits to change; choose one of them, effects={alone.name} or effects={others[0]}"
        )
    seen = {effect.name for chain in chains(experiment).values() for effect in chain}
    for effect in chosen:
        if effect.name not in seen:
            name, rules = experiment.method.name, experiment.method.rules()
            raise SettingsError(
                f"effects.{effect.name}: {name} predicts by {' and '.join(rules)} alone, where it "
                "would not be seen; leave it out, or choose a method that is read by its head"
            )
        if effect.needs_exemplars and not experiment.memory.share(classes):
            raise SettingsError(
                f"effects.{effect.name}: it needs an image of every class, but none is kept; ask "
                "for memory.per_class=1 or more, or leave it out"
            )


class Lenses:
    """Every lens of a run: those that act in training, and those of each reading."""

    def __init__(self, experiment: Experiment) -> None:
        acting = [effect for effect in experiment.effects if effect.acts_in_training]
        self.acting = [effect.lens() for effect in acting]
        self.readings = {
            name: [effect.lens() for effect in chain] for name, chain in chains(experiment).items()
        }

    @property
    def capture(self) -> bool:
        """Whether every lens does the same to every batch, so that a GPU may replay it."""
        return all(lens.captures for lens in self._all())

    def _all(self) -> Iterable[Lens]:
        yield from self.acting
        for chain in self.readings.values():
            yield from chain

    def begin(self, session: Session) -> None:
        """The session's pool and teacher are known."""
        for lens in self._all():
            lens.begin(session)

    def begin_epoch(self, epoch: Epoch, session: Session) -> None:
        """The order and the views of an epoch are known."""
        for lens in self._all():
            lens.begin_epoch(epoch, session)

    def before(self, batch: Batch, session: Session) -> None:
        """The network is about to see this batch."""
        for lens in self.acting:
            lens.before(batch, session)

    def classification(self, losses: Tensor, batch: Batch, session: Session) -> Tensor:
        """What the classification losses are seen to be."""
        for lens in self.acting:
            losses = lens.classification(losses, batch, session)
        return losses

    def beside(self, out: Output, batch: Batch, session: Session) -> list[Tensor]:
        """The losses that lenses have of their own."""
        own = [lens.beside(out, batch, session) for lens in self.acting]
        return [loss for loss in own if loss is not None]

    def watch(self, out: Output, batch: Batch, session: Session) -> None:
        """The network has said this of the batch."""
        for lens in self._all():
            lens.watch(out, batch, session)

    def settle(self, session: Session, kept: Pool) -> None:
        """Training is over; each lens settles on what the earlier ones of its chain show."""
        head = session.network.head
        for chain in [self.acting, *self.readings.values()]:
            for place, lens in enumerate(chain):
                lens.settle(session, kept, partial(_shown, chain=chain[:place], head=head))

    def read(self, out: Output, head: Head) -> dict[str, Output]:
        """What each reading that has something to say shows of an output."""
        out = _shown(out, self.acting, head)
        return {
            name: _shown(out, chain, head)
            for name, chain in self.readings.items()
            if all(lens.ready for lens in chain)
        }

    def numbers(self) -> dict[str, float]:
        """Learned numbers by reading, say 'cnn+momentum.alpha'."""
        return {
            f"{name}.{key}": value
            for name, chain in self.readings.items()
            for lens in chain
            for key, value in lens.numbers().items()
        }

    def state(self) -> dict[str, Any]:
        """All that the lenses remember."""
        return {
            "acting": [lens.state() for lens in self.acting],
            "readings": {n: [lens.state() for lens in c] for n, c in self.readings.items()},
        }

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Every tensor that the lenses remember, by a name that stays."""
        for place, lens in enumerate(self._all()):
            for name, value in lens.state().items():
                if isinstance(value, Tensor):
                    yield f"lens {place} {name}", value

    def load(self, state: dict[str, Any], device: torch.device) -> None:
        """Continue from what was saved."""
        saved = [
            *state["acting"],
            *(one for name in self.readings for one in state["readings"][name]),
        ]
        for lens, one in zip(self._all(), saved, strict=True):
            lens.load(one, device)


def _shown(out: Output, chain: Sequence[Lens], head: Head) -> Output:
    for lens in chain:
        out = lens.forward(out, head)
    return out
