"""Classifier heads whose rows grow: one block of rows for each increment.

Old rows are held by leaving their blocks out of the optimiser; nothing here freezes anything.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Verdict:
    """What a head says: `scores` before its learned scale, `logits` after."""

    logits: Tensor
    scores: Tensor


class Blocks(nn.ParameterList):
    """One parameter for each increment; a fresh list loads as many as were saved."""

    def whole(self) -> Tensor:
        """All blocks as one tensor."""
        return torch.cat(list(self))

    def append_values(self, values: Tensor) -> None:
        """Add a block with these values."""
        self.append(nn.Parameter(values.clone()))

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        saved = sum(key.startswith(prefix) for key in state)
        for index in range(len(self), saved):
            self.append_values(torch.empty_like(state[f"{prefix}{index}"]))
        super()._load_from_state_dict(state, prefix, *rest)


class Head(nn.Module):
    """Features to logits over all classes known so far."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.weights = Blocks()

    @property
    def classes(self) -> int:
        """How many classes there are rows for."""
        return sum(len(block) for block in self.weights)

    def fresh_rows(self, classes: int) -> Tensor:
        """Random rows for new classes."""
        return uniform(self.width, classes, self.width)

    def grow(self, rows: Tensor) -> None:
        """Add a block of rows, one for each new class."""
        self.weights.append_values(rows)

    @abstractmethod
    def forward(self, features: Tensor) -> Verdict: ...

    @abstractmethod
    def along(self, features: Tensor, direction: Tensor) -> Tensor:
        """The part of the logits that comes from the features' projection on a unit direction."""

    def taken(self, features: Tensor, parts: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
        """What the logits lose when shares of projections on unit directions are removed.

        `parts` are the shares, each with its direction.
        """
        return torch.stack([share * self.along(features, way) for share, way in parts]).sum(0)

    def old_rows(self) -> list[nn.Parameter]:
        """The parameters of the classes that came before the last increment."""
        return list(self.weights)[:-1]

    def rows(self) -> list[nn.Parameter]:
        """The parameters that belong to single classes, those of all increments."""
        return list(self.weights)

    def row_norm(self) -> float:
        """The mean norm of the rows."""
        return float(self.weights.whole().detach().norm(dim=-1).mean())


class LinearHead(Head):
    """logits = W x + b."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.biases = Blocks()

    def grow(self, rows: Tensor) -> None:
        super().grow(rows)
        self.biases.append_values(uniform(self.width, len(rows)).to(rows.device))

    def forward(self, features: Tensor) -> Verdict:
        logits = F.linear(features, self.weights.whole(), self.biases.whole())
        return Verdict(logits, logits)

    def along(self, features: Tensor, direction: Tensor) -> Tensor:
        return torch.outer(features @ direction, self.weights.whole() @ direction)

    def old_rows(self) -> list[nn.Parameter]:
        return [*super().old_rows(), *list(self.biases)[:-1]]

    def rows(self) -> list[nn.Parameter]:
        return [*super().rows(), *self.biases]


class CorrectedHead(LinearHead):
    """logits = W x + b, and those of the newest classes beta (W x + b) + gamma; scores are bare."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.beta = nn.Parameter(torch.ones(()))
        self.gamma = nn.Parameter(torch.zeros(()))

    def grow(self, rows: Tensor) -> None:
        super().grow(rows)
        with torch.no_grad():
            self.beta.fill_(1)
            self.gamma.fill_(0)

    def forward(self, features: Tensor) -> Verdict:
        bare = super().forward(features).logits
        old, new = self._split(bare)
        return Verdict(torch.cat([old, self.beta * new + self.gamma], 1), bare)

    def along(self, features: Tensor, direction: Tensor) -> Tensor:
        old, new = self._split(super().along(features, direction))
        return torch.cat([old, self.beta * new], 1)

    def correction(self) -> list[nn.Parameter]:
        """The two numbers."""
        return [self.beta, self.gamma]

    def _split(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """What belongs to older classes, and to the newest."""
        newest = len(self.weights[-1])
        return logits[:, :-newest], logits[:, -newest:]


class CosineHead(Head):
    """logits = scale * cos(x, w), with one learned scale for all classes."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, features: Tensor) -> Verdict:
        scores = F.linear(F.normalize(features), F.normalize(self.weights.whole()))
        return Verdict(self.scale * scores, scores)

    def along(self, features: Tensor, direction: Tensor) -> Tensor:
        share = F.normalize(features) @ direction
        return self.scale * torch.outer(share, F.normalize(self.weights.whole()) @ direction)


Removal = Literal["linear", "own_attention", "rerun"]


class ProxyHead(Head):
    """logits = scale * y, where several proxies speak for each class (PODNet's classifier).

    y_c = sum_k a_ck s_ck, the similarity s_ck = -|g x - g w_ck|^2 of unit x and w_ck, and the
    attention a = softmax of s over the proxies k of a class. A block is classes x proxies x width.

    sharpness: g. removal: what is left of a feature without a part of it: linear (the attention
    stays that of the whole feature), own_attention (a part is heard with its own) or rerun (the
    head is run on what is left, which is not normalised again).
    """

    def __init__(
        self,
        width: int,
        proxies: int = 10,
        sharpness: float = 1.0,
        removal: Removal = "linear",
    ) -> None:
        super().__init__(width)
        self.proxies, self.sharpness, self.removal = proxies, sharpness, removal
        self.scale = nn.Parameter(torch.ones(()))

    def fresh_rows(self, classes: int) -> Tensor:
        return torch.randn(classes, self.proxies, self.width) / math.sqrt(self.width)

    def forward(self, features: Tensor) -> Verdict:
        agreement = self._agreement(F.normalize(features))
        scores = (agreement.softmax(2) * agreement).sum(2) - 2 * self.sharpness**2
        return Verdict(self.scale * scores, scores)

    def along(self, features: Tensor, direction: Tensor) -> Tensor:
        unit = F.normalize(features)
        part = self._agreement(torch.outer(unit @ direction, direction))
        heard = part if self.removal == "own_attention" else self._agreement(unit)
        return self.scale * (heard.softmax(2) * part).sum(2)

    def taken(self, features: Tensor, parts: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
        if self.removal != "rerun":
            return super().taken(features, parts)
        unit = F.normalize(features)
        projections = [share * torch.outer(unit @ way, way) for share, way in parts]
        whole, left = (
            self._agreement(vectors) for vectors in (unit, unit - torch.stack(projections).sum(0))
        )
        lost = (whole.softmax(2) * whole).sum(2) - (left.softmax(2) * left).sum(2)
        return self.scale * lost

    def _agreement(self, vectors: Tensor) -> Tensor:
        """The part of the similarities that is linear in x, 2 g^2 <x, w>; the rest is -2 g^2."""
        unit = F.normalize(self.weights.whole(), dim=2)
        agreement = F.linear(vectors, unit.flatten(0, 1)).view(-1, *unit.shape[:2])
        return 2 * self.sharpness**2 * agreement


def uniform(width: int, *shape: int) -> Tensor:
    """Values as a linear layer of this width starts with: uniform in +-1/sqrt(width)."""
    bound = 1 / math.sqrt(width)
    return torch.empty(shape).uniform_(-bound, bound)
