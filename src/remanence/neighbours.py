"""The best K of many candidates, exactly and in tiles: memory grows with N x K, never N x N."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

TILE = 256


def best_in_tiles(
    score: Callable[[slice], Tensor], queries: int, count: int
) -> tuple[Tensor, Tensor]:
    """For each query the `count` candidates of highest score, best first: positions and scores.

    `score(rows)` gives the scores of all candidates for a slice of the queries; -inf forbids one.

    >>> points = torch.tensor([[0.0], [1.0], [3.0]])
    >>> best_in_tiles(lambda rows: -(points[rows] - points.T).abs(), 3, 2)[0].tolist()
    [[0, 1], [1, 0], [2, 1]]
    """
    tiles = [
        score(slice(start, min(start + TILE, queries))).topk(count, dim=1)
        for start in range(0, queries, TILE)
    ]
    return torch.cat([tile.indices for tile in tiles]), torch.cat([tile.values for tile in tiles])
