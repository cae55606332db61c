"""The images that stand for the clusters of their class."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import Tensor

STARTS = 10


def representatives(features: Tensor, count: int, seed: int) -> Tensor:
    """The distinct places nearest to the centres of k-means clusters, largest cluster first.

    Clusters are found among unit features, the best of ten starts; one thread adds up the means,
    so that nothing but the seed decides.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    unit = torch.nn.functional.normalize(features.double())
    count = min(count, len(unit))
    means = KMeans(count, n_init=STARTS, random_state=seed % 2**32)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of equal images, which are fine
        found = means.fit(unit.numpy())
    distances = torch.cdist(unit, torch.from_numpy(found.cluster_centers_))
    sizes = np.bincount(found.labels_, minlength=count)
    chosen: list[int] = []
    for cluster in np.argsort(-sizes, kind="stable"):
        distances[chosen] = torch.inf
        chosen.append(int(distances[:, cluster].argmin()))
    return torch.tensor(chosen, dtype=torch.int64)
