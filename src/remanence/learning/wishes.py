"""What may be wished of learning; everything left open is chosen by the data and the model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from remanence.core.settings import (
    AtLeastOne,
    AtLeastZero,
    Fraction,
    NotNegative,
    Settings,
    refused,
    settings,
)
from remanence.model.description import Side

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
FORM = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KB|MB|GB)|(\d+)", re.IGNORECASE)
KEPT = "20"


@dataclass(frozen=True)
class Budget:
    """How much of the photographs may be kept: so many of each class, or bytes in all.

    >>> Budget.of("20"), Budget.of("1.5 MB")
    (Budget(per_class=20, size=None), Budget(per_class=None, size=1500000))
    """

    per_class: int | None = None
    size: int | None = None

    @classmethod
    def of(cls, words: str) -> Budget:
        """The budget that words stand for; they are known to be well formed."""
        found = FORM.fullmatch(words.strip())
        assert found
        number, unit, count = found.groups()
        if count is not None:
            return cls(per_class=int(count))
        return cls(size=int(float(number) * UNITS[unit.upper()]))


def _is_budget(words: str | None) -> str | None:
    if words is not None and not FORM.fullmatch(words.strip()):
        raise refused(
            f"'{words}' is neither a number of images a class, as in 20, nor a size, as in 50MB"
        )
    return words


@settings
class Wishes(Settings):
    """How a model is to be made or gone on with; what is None is as it was before, or as is best.

    keep: photographs to keep for later: 20 of each class, 0, or 50MB in all.
    max_drop: refuse a version in which the old classes lose more points than this.
    backbone: its name, `timm:NAME`, or `package.module:Name`; a model keeps the one it has.
    side: pixels on each side of what it sees; a model keeps it.
    test_share: of each class to measure on, where there is no test folder.
    shrinkage: see `remanence.discriminant`.
    epochs: of a network that is not pretrained, in the first lesson. seed: of its chances.
    workers: threads that decode. own_code: the model may name a module to import.
    """

    keep: Annotated[str | None, AfterValidator(_is_budget)] = None
    max_drop: NotNegative | None = None
    backbone: str | None = None
    side: Side | None = None
    test_share: Annotated[float, Field(gt=0, lt=1)] = 0.2
    shrinkage: Fraction = 0.5
    epochs: AtLeastOne | None = None
    seed: AtLeastZero = 1993
    workers: AtLeastOne | None = None
    own_code: bool = False
