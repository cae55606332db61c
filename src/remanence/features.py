"""What is done to feature vectors before they are compared."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def rooted(features: Tensor) -> Tensor:
    """Unit vectors of square roots, the sign kept: long tails of features are drawn in."""
    return F.normalize(features.sign() * features.abs().sqrt())
