"""The best K of many candidates, exactly and in tiles: memory grows with N x K, never N x N."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from remanence.core import ranks

TILE = 256


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
    tiles = [score(slice(int(tile[0]), int(tile[-1]) + 1)).topk(count, dim=1) for tile in own]
    scores, positions = (torch.cat(column) for column in zip(*tiles, strict=True))
    return ranks.gathered(positions, queries), ranks.gathered(scores, queries)
