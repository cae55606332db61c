"""What a page shows of a run beside its figures; only images and the network can tell it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Missing:
    """Why there is nothing to show, in one line."""

    reason: str


@dataclass(frozen=True)
class Kept:
    """The images that are kept of a class, side by side in one picture (a data URI)."""

    name: str
    images: int
    shown: int
    strip: str


@dataclass(frozen=True)
class Sight:
    """An image, its class, and the old class that the old network sees in it.

    alike: its similarity to the image whose neighbour it is.
    """

    picture: str
    name: str
    speaks_for: str
    belief: float
    alike: float | None = None


@dataclass(frozen=True)
class Neighbourhood:
    """A new image and its nearest ones in the old network's feature space."""

    image: Sight
    neighbours: tuple[Sight, ...]

    @property
    def sights(self) -> tuple[Sight, ...]:
        """The image, then its neighbours."""
        return self.image, *self.neighbours


@dataclass(frozen=True)
class Shift:
    """The mean logit of a class before and after an effect took its part out."""

    name: str
    increment: int
    before: float
    after: float


@dataclass(frozen=True)
class Removal:
    """What momentum effect removal takes from the logits of how many test images."""

    images: int
    alpha: float
    beta: float
    classes: tuple[Shift, ...]


@dataclass(frozen=True)
class Exhibits:
    """All three; each is there, or says why not."""

    kept: tuple[Kept, ...] | Missing
    neighbours: tuple[Neighbourhood, ...] | Missing
    removal: Removal | Missing

    @staticmethod
    def missing(reason: str) -> Exhibits:
        """Nothing is there, for one reason."""
        return Exhibits(Missing(reason), Missing(reason), Missing(reason))
