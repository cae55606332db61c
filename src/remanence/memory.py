"""What is kept of old classes: budgets, and the choice of exemplars by herding."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import torch
from torch import Tensor

from remanence.core.settings import AtLeastOne, AtLeastZero, Settings, settings
from remanence.data.base import Images
from remanence.loader import Pool
from remanence.network import Network

MAX_HERDING_ROUNDS = 1000

Pick = Callable[[Tensor, int], Tensor]


@settings
class Memory(Settings):
    """How many images may be kept.

    per_class: images of every class, constant over time (the paper's R).
    total: images in all, shared equally among the classes seen; replaces per_class.
    """

    per_class: AtLeastZero = 20
    total: AtLeastOne | None = None

    def share(self, classes: int) -> int:
        """How many images each class may keep when there are so many classes."""
        return self.per_class if self.total is None else self.total // classes


def summary(kept: Images) -> dict[str, int | str]:
    """How many images are kept, how many bytes they take, and a hash of them and their labels."""
    digest = hashlib.blake2b(digest_size=8)
    for part in kept.identity():
        digest.update(part)
    return {"images": len(kept), "bytes": kept.nbytes, "hash": digest.hexdigest()}


def rank_in_class(labels: Tensor) -> Tensor:
    """For each place, how many earlier places hold the same label."""
    ranks = torch.empty_like(labels)
    for label in labels.unique():
        of_class = labels == label
        ranks[of_class] = torch.arange(int(of_class.sum()))
    return ranks


def herd(features: Tensor, count: int) -> Tensor:
    """The ranked choice of `count` rows whose running mean stays close to the mean of all.

    w starts as the mean of the unit features; each round takes j = argmax <w, d_j> over all rows,
    picked ones too, and adds mean - d_j to w. Where rounds run out (many equal images), the rows
    most alike the mean fill the rest.
    """
    unit = torch.nn.functional.normalize(features.double())
    mean = unit.mean(0)
    wish = mean.clone()
    picked: dict[int, None] = {}
    for _ in range(MAX_HERDING_ROUNDS):
        if len(picked) == min(count, len(unit)):
            break
        best = int((unit @ wish).argmax())
        picked.setdefault(best)
        wish += mean - unit[best]
    rest = (unit @ mean).argsort(descending=True, stable=True).tolist()
    chosen = list(dict.fromkeys([*picked, *rest]))[:count]
    return torch.tensor(chosen, dtype=torch.int64)


def old_exemplars(pool: Pool, keep: int) -> Tensor:
    """The places in a pool of the best that is left of each old class."""
    old = torch.arange(pool.new_count, len(pool))
    return old[rank_in_class(pool.images.labels[old]) < keep]


def picked(pool: Pool, network: Network, members: Tensor, keep: int, pick: Pick = herd) -> Tensor:
    """Those of some places in a pool whose features are picked, the best first."""
    features = pool.outputs(network, members.to(pool.device)).features
    return members[pick(features.cpu(), keep)]


def choose_exemplars(
    pool: Pool, network: Network, classes: range, keep: int, pick: Pick = herd
) -> Tensor:
    """The places in a pool of the exemplars to keep, class after class, the best first.

    Old classes keep the best of what they have; of the features of each of the new `classes`, the
    best are picked: herded, unless it is done in another way.
    """
    kept = [old_exemplars(pool, keep)]
    for label in classes if keep else ():
        members = torch.nonzero(pool.images.labels == label).flatten()
        kept.append(picked(pool, network, members, keep, pick))
    return torch.cat(kept).to(pool.device)
