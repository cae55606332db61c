"""Exact nearest neighbours on unit vectors, in tiles: memory grows with N x K, never with N x N."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

TILE = 256


def nearest(
    queries: Tensor,
    candidates: Tensor,
    count: int,
    allowed: Callable[[slice], Tensor],
    farthest: bool = False,
) -> tuple[Tensor, Tensor]:
    """For each query the `count` most alike candidates, best first: positions and similarities.

    `allowed(rows)` says for a slice of the queries which candidates each of them may have. With
    `farthest` the least alike allowed candidates are found instead. A place for which there is
    no allowed candidate has similarity -inf (+inf with `farthest`).
    """
    sign = -1.0 if farthest else 1.0
    positions = torch.empty(len(queries), count, dtype=torch.int64, device=queries.device)
    similarity = torch.empty(len(queries), count, dtype=queries.dtype, device=queries.device)
    for start in range(0, len(queries), TILE):
        rows = slice(start, start + TILE)
        scores = sign * (queries[rows] @ candidates.T)
        scores.masked_fill_(~allowed(rows), -torch.inf)
        best, where = scores.topk(count, dim=1)
        positions[rows], similarity[rows] = where, sign * best
    return positions, similarity
