"""iCaRL (CVPR 2017): distilled outputs, herded exemplars, and the nearest mean of exemplars.

Two forms of it are in use: softmax with distilled logits, which benchmarks since LUCIR run under
this name, and the original's sigmoid units with binary cross-entropy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.core.errors import SettingsError
from remanence.core.settings import AtLeastOne, NotNegative, Positive, filled, settings
from remanence.data.base import Data, Scale
from remanence.effects.base import Effect
from remanence.effects.colliding import Colliding
from remanence.effects.nearest_mean import NearestMean
from remanence.heads import Head, LinearHead
from remanence.loader import Batch
from remanence.losses import distillation
from remanence.memory import Memory
from remanence.methods.base import Method, with_last_relu
from remanence.network import Output
from remanence.schedule import Training
from remanence.session import Session
from remanence.stream import Increment

_PHOTOS = Training(
    epochs=60, rate=2.0, drops=(1 / 3, 1 / 2, 2 / 3, 5 / 6), drop_factor=0.2, weight_decay=1e-5
)
# Where the original differs from the usual schedule of the data.
ORIGINAL: Mapping[Scale, Training] = {
    "digits": Training(rate=1.0, drops=(0.7, 0.9), drop_factor=0.2, weight_decay=1e-5),
    "cifar": Training(
        epochs=70,
        rate=2.0,
        drops=(49 / 70, 63 / 70),
        drop_factor=0.2,
        weight_decay=1e-5,
        augmentation="cifar_icarl",
    ),
    "imagenet_sub": _PHOTOS,
    "imagenet_full": _PHOTOS,
}


@settings
class Icarl(Method):
    """Incremental Classifier and Representation Learning; prediction by nearest mean comes first.

    form: softmax (cross-entropy and distillation of old logits, as in the LUCIR repository) or
        sigmoid (the original: binary cross-entropy of every output, old ones against the teacher).
    distillation: weight of the distillation, times temperature^2 (1 in all); softmax only.
    temperature: by which logits are divided before they are compared with the teacher's.
    units: sigmoid only: how many outputs the loss is averaged over, if not those of the classes
        seen so far; the original code has all 100 from the start, which lowers the rate early.
    mirror: see the effect nearest_mean.
    """

    captures: ClassVar[bool] = True

    form: Literal["softmax", "sigmoid"] = "softmax"
    distillation: NotNegative = 0.25
    temperature: Positive = 2.0
    units: AtLeastOne | None = None
    mirror: Literal["auto", "never", "channels"] = "auto"

    def head(self, width: int) -> Head:
        return LinearHead(width)

    def backbone(self, data: Data) -> Mapping[str, Any]:
        return with_last_relu(data)

    def training(self, data: Data) -> Training:
        usual = super().training(data)
        return usual if self.form == "softmax" else filled(ORIGINAL[data.scale], usual)

    def base_signature(self) -> dict[str, Any]:
        if self.form == "softmax":
            return {"head": "linear", "loss": "cross-entropy"}
        return {"head": "linear", "loss": "binary cross-entropy", "units": self.units}

    def check(
        self, increments: Sequence[Increment], effects: Sequence[Effect], memory: Memory
    ) -> None:
        if self.form == "softmax":
            return
        if any(isinstance(effect, Colliding) for effect in effects):
            raise SettingsError(
                "method.form: colliding needs the probability of one class among all, which "
                "sigmoid outputs do not give; choose method.form=softmax, or leave colliding out"
            )
        classes = increments[-1].classes
        if self.units is not None and self.units < classes:
            raise SettingsError(
                f"method.units: the loss cannot be averaged over {self.units} outputs, since there "
                f"are {classes} classes; ask for at least as many, or leave it open"
            )

    def classify(self, seen: Output, labels: Tensor, session: Session) -> Tensor:
        if self.form == "softmax":
            return super().classify(seen, labels, session)
        logits = seen.logits[:, session.old_classes :]
        own = torch.arange(session.old_classes, session.classes, device=labels.device)
        wanted = (labels[:, None] == own).to(logits.dtype)
        losses = F.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
        return losses.sum(1) / self._averaged_over(session)

    def preserve(
        self, out: Output, old: Output, batch: Batch, session: Session
    ) -> dict[str, Tensor]:
        if self.form == "softmax":
            kept = distillation(out.logits, old.logits, self.temperature)
            return {"distillation": self.distillation * kept}
        logits = out.logits[:, : session.old_classes]
        losses = F.binary_cross_entropy_with_logits(logits, old.logits.sigmoid(), reduction="none")
        return {"distillation": losses.sum(1).mean() / self._averaged_over(session)}

    def rules(self) -> dict[str, tuple[Effect, ...]]:
        return {"nme": (NearestMean(mirror=self.mirror),), "cnn": ()}

    def _averaged_over(self, session: Session) -> int:
        return self.units or session.classes
