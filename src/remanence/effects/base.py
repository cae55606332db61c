"""What an effect is: settings, and the lens they build.

A lens changes what the network is *seen* to say: to the classification loss while it trains, to
whoever asks once it is trained. It never touches what a method compares with the teacher.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from remanence.core.settings import Choice, settings
from remanence.heads import Head
from remanence.loader import Batch, Epoch, Pool
from remanence.network import Output
from remanence.session import Session
from remanence.stream import Increment

View = Callable[[Output], Output]


class Lens:
    """The moments of a session; each does nothing unless a lens has something to do then.

    All that a lens remembers is in the attributes named by `learned`, so that it can be saved.
    The network and its head are handed to it when it needs them; it keeps neither.

    A lens whose `before`, `classification`, `beside` and `watch` are one and the same sequence of
    operations on tensors for every batch of a stage, and change what it remembers in place, may
    say that it `captures`: a GPU then records a step once and replays it.
    """

    learned: ClassVar[tuple[str, ...]] = ()

    @property
    def captures(self) -> bool:
        """Whether a GPU may replay its part of a step."""
        return False

    def begin(self, session: Session) -> None:
        """The session's pool and teacher are known."""

    def begin_epoch(self, epoch: Epoch, session: Session) -> None:
        """The order and the views of an epoch are known."""

    def before(self, batch: Batch, session: Session) -> None:
        """The network is about to see this batch."""

    def classification(self, losses: Tensor, batch: Batch, session: Session) -> Tensor:
        """What the classification loss of each image, -log p(label), is seen to be."""
        return losses

    def beside(self, out: Output, batch: Batch, session: Session) -> Tensor | None:
        """A loss of its own, beside the method's: from what the network says of the batch."""
        return None

    def watch(self, out: Output, batch: Batch, session: Session) -> None:
        """The network has said this of the batch."""

    def settle(self, session: Session, kept: Pool, shown: View) -> None:
        """Training is over: learn from the kept images, as the earlier lenses show them."""

    def forward(self, out: Output, head: Head) -> Output:
        """What prediction sees."""
        return out

    @property
    def ready(self) -> bool:
        """Whether there is anything to predict with."""
        return True

    def numbers(self) -> dict[str, float]:
        """Learned numbers worth a place in the record."""
        return {}

    def state(self) -> dict[str, Any]:
        """All that must be saved."""
        return {name: getattr(self, name) for name in self.learned}

    def load(self, state: dict[str, Any], device: torch.device) -> None:
        """Continue from what was saved."""
        for name in self.learned:
            value = state[name]
            setattr(self, name, value.to(device) if isinstance(value, Tensor) else value)


@settings
class Effect(Choice):
    """Settings of a lens.

    acts_in_training: whether training goes another way with it. An effect that only acts at
    prediction is read beside the bare network from one training.
    replaces_logits: whether prediction comes from features alone, so that effects on the logits
    before it change nothing.
    needs_exemplars: whether it has nothing to say where no image of a class is kept.
    """

    acts_in_training: ClassVar[bool] = False
    replaces_logits: ClassVar[bool] = False
    needs_exemplars: ClassVar[bool] = False

    @property
    def shapes_base(self) -> bool:
        """Whether the base increment must be watched or trained differently for it."""
        return False

    @abstractmethod
    def lens(self) -> Lens:
        """A new lens that has learned nothing yet."""

    def variants(self) -> dict[str, Effect]:
        """Other settings of this effect that can be read from the same training."""
        return {}

    def check(self, increments: Sequence[Increment]) -> None:
        """Raise a SettingsError where the effect cannot work on these increments."""


BASE = Effect
