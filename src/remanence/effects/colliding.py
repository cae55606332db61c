"""DCE, distilling the colliding effect: each image is classified jointly with its neighbours.

The K nearest images in the *old* network's feature space collide with an image: their features
depend on it through the old data. With p the probability that the network gives an image's label,
and q the mean probability that it gives that label on the neighbours, the classification loss

    -log p    becomes    -log(w p + (1 - w) q),    w = 1/2.

With q held constant this is cross-entropy weighted by w p / (w p + (1 - w) q), which is why a bank
of each image's last probabilities serves as well as running the neighbours through the network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.core import ranks, seeds
from remanence.core.errors import SettingsError
from remanence.core.settings import AtLeastOne, Fraction, settings
from remanence.effects.base import Effect, Lens
from remanence.loader import Batch, Epoch
from remanence.neighbours import best_in_tiles
from remanence.network import Network, Output, in_eval_mode, statistics_untouched
from remanence.session import Session
from remanence.stream import Increment


@settings
class Colliding(Effect):
    """The official procedure is source=fresh graph=epoch batchnorm=shared; the default is free.

    neighbours: K, besides the image itself.
    source: bank (each image's own last probabilities), fresh (neighbours run through the network),
        through (the same with gradient, the paper's Algorithm 1).
    graph: session (neighbours once, on clean images) or epoch (again on each epoch's views).
    batchnorm: what running neighbours through the network does to the running statistics; shared
        updates them as the official code does, isolated leaves them, eval uses them.
    pick: top (nearest), rand or bottom (farthest) among the candidates; as the released code
        would, rand_code draws from everything and may draw one twice, and bottom_code takes the
        forbidden images first.
    candidates: new, any, different (class), or different_new. candidate_limit: only the first so
        many in the epoch's order.
    weights: half (1/2 for the image), variant1 (all alike), variant2 (softmax of similarity).
    own_weight: the image's own weight, if not that of half or variant1.
    """

    acts_in_training: ClassVar[bool] = True

    neighbours: AtLeastOne = 10
    source: Literal["bank", "fresh", "through"] = "bank"
    graph: Literal["session", "epoch"] = "session"
    batchnorm: Literal["isolated", "shared", "eval"] = "isolated"
    pick: Literal["top", "rand", "bottom", "rand_code", "bottom_code"] = "top"
    candidates: Literal["new", "any", "different", "different_new"] = "new"
    candidate_limit: AtLeastOne | None = None
    weights: Literal["half", "variant1", "variant2"] = "half"
    own_weight: Fraction | None = None

    def lens(self) -> Lens:
        return _CollidingLens(self)

    def check(self, increments: Sequence[Increment]) -> None:
        if self.pick == "rand_code":
            return
        for increment in increments[1:]:
            there_are = self.candidate_limit or math.inf
            if "new" in self.candidates and self.pick != "bottom_code":
                counts = torch.bincount(increment.train.labels)
                forbidden = int(counts.max()) if self.candidates == "different_new" else 1
                there_are = min(there_are, len(increment.train) - forbidden)
            if there_are < self.neighbours:
                raise SettingsError(
                    f"effects.colliding.neighbours: {self.neighbours} asked for, but increment "
                    f"{increment.number} offers an image {there_are} candidates; ask for fewer"
                )


class _CollidingLens(Lens):
    learned: ClassVar[tuple[str, ...]] = ("graph", "shares", "own_share", "bank")

    def __init__(self, chosen: Colliding) -> None:
        self.chosen = chosen
        self.graph: Tensor | None = None
        self.shares: Tensor | None = None
        self.own_share: Tensor | None = None
        self.bank: Tensor | None = None
        self._believed: Tensor | None = None

    @property
    def captures(self) -> bool:
        return self.chosen.source == "bank"

    def begin(self, session: Session) -> None:
        if session.teacher is None:
            return
        pool = session.pool
        if self.chosen.graph == "session":
            features = pool.read(session.teacher, pool.everything, lambda out: out.features)
            chance = seeds.generator(session.seed, session.increment, "neighbours")
            order = session.visited[torch.randperm(len(session.visited), generator=chance)]
            self._connect(features, order, session, chance)
        if self.chosen.source == "bank":
            self.bank = pool.read(session.network, pool.everything, session.probabilities)

    def begin_epoch(self, epoch: Epoch, session: Session) -> None:
        if session.teacher is None or not epoch.is_main or self.chosen.graph == "session":
            return
        with torch.no_grad():
            parts = ranks.share(epoch.pool.everything).split(epoch.batch_size)
            seen = torch.cat([session.teacher(epoch.view(part)).features for part in parts])
            features = ranks.gathered(seen, len(epoch.pool))
        chance = seeds.generator(session.seed, *epoch.purpose, "neighbours")
        self._connect(features, epoch.order.to(features.device), session, chance)

    def before(self, batch: Batch, session: Session) -> None:
        if session.teacher is None or not batch.epoch.is_main:
            return
        assert self.graph is not None
        neighbours = self.graph[batch.indices]
        if self.bank is not None:
            probabilities = self.bank[neighbours, batch.labels[:, None]]
        else:
            probabilities = self._run_neighbours(neighbours, batch, session)
        assert self.shares is not None
        self._believed = (self.shares[batch.indices] * probabilities).sum(1)

    def classification(self, losses: Tensor, batch: Batch, session: Session) -> Tensor:
        if session.teacher is None or not batch.epoch.is_main:
            return losses
        assert self.own_share is not None
        assert self._believed is not None
        own = self.own_share[batch.indices].log() - losses
        smallest = torch.finfo(own.dtype).tiny
        joint: Tensor = torch.logaddexp(own, self._believed.clamp_min(smallest).log())
        return -joint

    def watch(self, out: Output, batch: Batch, session: Session) -> None:
        if self.bank is not None and batch.epoch.is_main:
            self.bank.index_copy_(0, batch.indices, session.probabilities(out).detach())

    def settle(self, session: Session, *_: object) -> None:
        self.graph = self.shares = self.own_share = self.bank = self._believed = None

    def _run_neighbours(self, neighbours: Tensor, batch: Batch, session: Session) -> Tensor:
        """The probability of each anchor's label on its neighbours, from the network as it is."""
        with ExitStack() as modes:
            if self.chosen.source == "fresh":
                modes.enter_context(torch.no_grad())
            modes.enter_context(self._statistics(session.network))
            out: Output = session.network(batch.epoch.view(neighbours.flatten()))
            labels = batch.labels.repeat_interleave(neighbours.shape[1])
            believed = session.probabilities(out).gather(1, labels[:, None])
        return believed.view(neighbours.shape)

    def _statistics(self, network: Network) -> AbstractContextManager[None]:
        if self.chosen.batchnorm == "shared":
            return nullcontext()
        if self.chosen.batchnorm == "isolated":
            return statistics_untouched(network)
        return in_eval_mode(network)

    def _connect(
        self, features: Tensor, order: Tensor, session: Session, chance: torch.Generator
    ) -> None:
        """Find the neighbours of every image of the pool, and how much each of them counts."""
        unit = F.normalize(features)
        columns = self._columns(order, session)
        if self.chosen.pick == "rand_code":
            shape = (len(unit), self.chosen.neighbours)
            self.graph = columns[torch.randint(len(columns), shape, generator=chance)]
        else:
            self.graph = self._best(unit, columns, session, chance)
        self.own_share, self.shares = self._weigh(unit)

    def _best(
        self, unit: Tensor, columns: Tensor, session: Session, chance: torch.Generator
    ) -> Tensor:
        """The candidates that suit each image best."""
        tile = self._tile(unit, columns, session, chance)
        count = min(self.chosen.neighbours, len(columns))
        positions, scores = best_in_tiles(tile, len(unit), count)
        if count < self.chosen.neighbours or bool(scores.isneginf().any()):
            raise SettingsError(
                f"effects.colliding.neighbours: in increment {session.increment} some image has "
                f"fewer than {self.chosen.neighbours} candidates; ask for fewer"
            )
        return columns[positions]

    def _columns(self, order: Tensor, session: Session) -> Tensor:
        """The places of the pool that may be neighbours of somebody."""
        limit = self.chosen.candidate_limit or len(order)
        columns = order[:limit].sort().values
        everybody = self.chosen.pick in ("rand_code", "bottom_code")
        if "new" in self.chosen.candidates and not everybody:
            columns = columns[session.pool.labels[columns] >= session.old_classes]
        return columns

    def _tile(
        self, unit: Tensor, columns: Tensor, session: Session, chance: torch.Generator
    ) -> Callable[[slice], Tensor]:
        """How well each candidate suits a slice of the pool; -inf where it is forbidden."""
        labels = session.pool.labels
        candidates = unit[columns]
        worst = math.inf if self.chosen.pick == "bottom_code" else -math.inf
        luck = int(torch.randint(2**62, (), generator=chance))

        def forbid(rows: slice, scores: Tensor) -> Tensor:
            """In place, and where it can be one image at a time: tables are slow."""
            own = torch.searchsorted(columns, session.pool.everything[rows])
            own.clamp_(max=len(columns) - 1)
            is_there = columns[own] == session.pool.everything[rows]
            scores[is_there.nonzero().flatten(), own[is_there]] = worst
            if "different" in self.chosen.candidates:
                scores.masked_fill_(labels[rows, None] == labels[columns], worst)
            if self.chosen.pick == "bottom_code":
                scores.masked_fill_((labels[columns] < session.old_classes)[None], worst)
            return scores

        def tile(rows: slice) -> Tensor:
            if self.chosen.pick == "rand":
                shape = (len(unit[rows]), len(columns))
                own_luck = torch.Generator().manual_seed(luck + rows.start)
                scores = torch.rand(shape, generator=own_luck).to(unit.device)
            else:
                scores = unit[rows] @ candidates.T
            if self.chosen.pick in ("bottom", "bottom_code"):
                scores.neg_()
            return forbid(rows, scores)

        return tile

    def _weigh(self, unit: Tensor) -> tuple[Tensor, Tensor]:
        """The weight of each image itself, and of each of its neighbours; together they are 1."""
        assert self.graph is not None
        count, neighbours = self.graph.shape
        if self.chosen.weights == "variant2":
            parts = zip(unit.split(1024), self.graph.split(1024), strict=True)
            alike = torch.cat([(part[:, None] * unit[near]).sum(2) for part, near in parts])
            shares = torch.cat([torch.ones_like(alike[:, :1]), alike], 1).softmax(1)
            return shares[:, 0], shares[:, 1:]
        even = {"half": 0.5, "variant1": 1 / (neighbours + 1)}[self.chosen.weights]
        own = even if self.chosen.own_weight is None else self.chosen.own_weight
        shares = unit.new_full((count, neighbours), (1 - own) / neighbours)
        return unit.new_full((count,), own), shares
