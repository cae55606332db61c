"""The trunk learns in the base, or comes pretrained, and is held from then on.

Features then never change, and a classifier on them can be exact about classes whose images are
gone: the discriminant, which is this method's own reading. Beside it the head is trained as usual.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from torch import nn

from remanence.core.errors import SettingsError
from remanence.core.settings import Fraction, settings
from remanence.effects.base import Effect
from remanence.effects.discriminant import Discriminant
from remanence.heads import Head, LinearHead
from remanence.memory import Memory
from remanence.methods.base import Method, Stage, all_parameters
from remanence.network import Network
from remanence.session import Session
from remanence.stream import Increment


def the_head(network: Network) -> Iterable[nn.Parameter]:
    """The trunk is held."""
    return network.head.parameters()


@settings
class Frozen(Method):
    """A classifier on features that do not change.

    shrinkage: see the effect discriminant.
    trains_head: whether the head is trained on the held trunk, to be read beside it. Without, an
        increment takes one look at each new image and no gradient descent.
    """

    shrinkage: Fraction = 0.5
    trains_head: bool = True

    def head(self, width: int) -> Head:
        return LinearHead(width)

    def check(
        self, increments: Sequence[Increment], effects: Sequence[Effect], memory: Memory
    ) -> None:
        idle = [effect.name for effect in effects if effect.acts_in_training]
        if idle and not self.trains_head:
            raise SettingsError(
                f"effects.{idle[0]}: it acts on the classification loss, but nothing is trained "
                "after the base; leave it out, or choose method.trains_head=true"
            )

    def stages(self, session: Session) -> tuple[Stage, ...]:
        is_held = session.teacher is not None or session.network.trunk.pretrained
        if is_held and not self.trains_head:
            return ()
        trained = the_head if is_held else all_parameters
        stage = self.main_stage(session, trained)
        return (dataclasses.replace(stage, freezes_statistics=is_held),)

    def rules(self) -> dict[str, tuple[Effect, ...]]:
        own = {"discriminant": (Discriminant(shrinkage=self.shrinkage),)}
        return own | ({"cnn": ()} if self.trains_head else {})
