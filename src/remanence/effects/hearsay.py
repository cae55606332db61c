"""New images pass on what the old network says of their neighbourhood.

The old network believes something of every new image, too: which old classes it resembles. One
image's belief is noisy; that of its neighbourhood, the K nearest new images in the *old* feature
space and itself, is what the old data have left about the place where it stands. With q this mean
belief over old classes, and p what the network says, training also descends on

    - sum over old classes c of  q_c log p_c.

With `among` = old, p is the softmax over old classes alone: distillation from a neighbourhood. With
all, it is that over all classes: a new image has a small say for the old classes around it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from torch import Tensor
from torch.nn import functional as F

from remanence.core.settings import AtLeastZero, Positive, settings
from remanence.effects.base import Effect, Lens
from remanence.loader import Batch
from remanence.neighbours import best_in_tiles
from remanence.network import Output
from remanence.session import Session


@settings
class Hearsay(Effect):
    """Nothing is kept for it.

    weight: of the term, beside the method's loss.
    neighbours: K, besides the image itself; 0 is what the old network says of the image alone.
    temperature: of the softmax of both, which spreads the belief.
    among: old or all, the classes that the network's own belief is over.
    """

    acts_in_training: ClassVar[bool] = True

    weight: Positive = 1.0
    neighbours: AtLeastZero = 10
    temperature: Positive = 2.0
    among: Literal["old", "all"] = "old"

    def lens(self) -> Lens:
        return _HearsayLens(self)


class _HearsayLens(Lens):
    learned: ClassVar[tuple[str, ...]] = ("heard",)

    def __init__(self, chosen: Hearsay) -> None:
        self.chosen = chosen
        self.heard: Tensor | None = None

    @property
    def captures(self) -> bool:
        return True

    def begin(self, session: Session) -> None:
        if session.teacher is None:
            return
        pool = session.pool
        out = pool.outputs(session.teacher, pool.everything)
        believed = (out.logits / self.chosen.temperature).softmax(1)
        unit = F.normalize(out.features)
        news = unit[: pool.new_count].T
        count = min(self.chosen.neighbours + 1, pool.new_count)  # a new image is its own nearest
        near, _ = best_in_tiles(lambda rows: unit[rows] @ news, len(unit), count)
        self.heard = believed[near].mean(1)
        self.heard[pool.new_count :] = believed[pool.new_count :]  # of what is known, itself

    def beside(self, out: Output, batch: Batch, session: Session) -> Tensor | None:
        if session.teacher is None or not batch.epoch.is_main:
            return None
        assert self.heard is not None
        heard, temperature = self.heard[batch.indices], self.chosen.temperature
        known = heard.shape[1]
        said = out.logits[:, :known] if self.chosen.among == "old" else out.logits
        log_p = (said / temperature).log_softmax(1)[:, :known]
        return -self.chosen.weight * temperature**2 * (heard * log_p).sum(1).mean()

    def settle(self, session: Session, *_: Any) -> None:
        self.heard = None
