"""What stands for the clusters of a cloud of points, by k-means."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

STARTS = 10
APART = 0.01  # how far a repeated centre is moved: equal ones would stay equal for ever


def representatives(features: Tensor, count: int, seed: int) -> Tensor:
    """The distinct places nearest to the centres of k-means clusters, largest cluster first.

    Clusters are found among unit features.
    """
    unit = F.normalize(features.double())
    count = min(count, len(unit))
    found = _means(unit, count, seed)
    distances = torch.cdist(unit, torch.from_numpy(found.cluster_centers_))
    sizes = np.bincount(found.labels_, minlength=count)
    chosen: list[int] = []
    for cluster in np.argsort(-sizes, kind="stable"):
        distances[chosen] = torch.inf
        chosen.append(int(distances[:, cluster].argmin()))
    return torch.tensor(chosen, dtype=torch.int64)


def centres(points: Tensor, count: int, seed: int) -> Tensor:
    """`count` centres; where there are fewer different points, each of them again and again.

    >>> centres(torch.tensor([[0.0], [0.2], [5.0], [5.2]]), 2, seed=0).sort(0).values
    tensor([[0.1000],
            [5.1000]])
    """
    values = points.detach().cpu().double()
    different = len(values.unique(dim=0))
    found = torch.from_numpy(_means(values, min(count, different), seed).cluster_centers_)
    repeated = found.repeat(-(-count // len(found)), 1)[:count]
    noise = torch.randn(repeated.shape, generator=torch.Generator().manual_seed(seed))
    repeated[len(found) :] += APART * F.normalize(noise[len(found) :])
    return repeated.to(points)


def _means(points: Tensor, count: int, seed: int) -> Any:
    """The best of ten starts of k-means.

    One thread adds up the means, so that nothing but the seed decides.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    means = KMeans(count, n_init=STARTS, random_state=seed % 2**32)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of equal images, which are fine
        return means.fit(points.numpy())
