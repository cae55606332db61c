"""The best K of many candidates, exactly and in tiles: memory grows with N x K, never N x N."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from remanence.core import ranks

TILE = 256
BLOCK = 64


def best_in_tiles(
    score: Callable[[slice], Tensor], queries: int, count: int
) -> tuple[Tensor, Tensor]:
    """For each query the `count` candidates of highest score, best first: positions and scores.

    `score(rows)` gives the scores of all candidates for a slice of the queries; -inf forbids one.
    Each rank looks for those of its share of the queries.

    >>> points = torch.tensor([[0.0], [1.0], [3.0]])
    >>> best_in_tiles(lambda rows: -(points[rows] - points.T).abs(), 3, 2)[0].tolist()
    [[0, 1], [1, 0], [2, 1]]
    """
    own = ranks.share(torch.arange(queries)).split(TILE)
    tiles = [best(score(slice(int(tile[0]), int(tile[-1]) + 1)), count) for tile in own]
    scores, positions = (torch.cat(column) for column in zip(*tiles, strict=True))
    return ranks.gathered(positions, queries), ranks.gathered(scores, queries)


def best(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The highest scores of each row, best first, and their places.

    They are in those blocks of the row that have the highest maxima, as many blocks as are wanted
    scores; to look for a maximum is several times faster than to sort.
    """
    blocks = scores.shape[1] // BLOCK
    if blocks < 4 * count:
        found = scores.topk(count, dim=1)
        return found.values, found.indices
    within = blocks * BLOCK  # what is left behind the last whole block is looked at as it is
    parts = scores[:, :within].view(len(scores), blocks, BLOCK)
    chosen = parts.amax(2).topk(count, dim=1).indices
    places = (chosen[:, :, None] * BLOCK + torch.arange(BLOCK, device=scores.device)).flatten(1)
    rest = torch.arange(within, scores.shape[1], device=scores.device).expand(len(scores), -1)
    places = torch.cat([places, rest], 1)
    found = scores.gather(1, places).topk(count, dim=1)
    return found.values, places.gather(1, found.indices)
