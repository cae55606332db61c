"""Photographs to features, once each: from the cache, or by the trunk a few at a time."""

from __future__ import annotations

import torch
from torch import Tensor

from remanence.core.progress import Progress
from remanence.learning.cache import FeatureCache
from remanence.model.classifier import Classifier
from remanence.photographs.collection import Photographs

AT_ONCE = 16


def features_of(
    photographs: Photographs, network: Classifier, cache: FeatureCache, progress: Progress
) -> Tensor:
    """A row for each photograph; what turns out to be no image is in `unreadable` then."""
    hashes = [photographs.album.hash(place) for place in photographs.places.tolist()]
    found = cache.find(hashes)
    missing = torch.tensor([n for n, hashed in enumerate(hashes) if hashed not in found]).long()
    progress.planned(len(hashes))
    progress.stepped(len(hashes) - len(missing))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network.eval().to(device)
    parts = missing.split(AT_ONCE)
    for part, pixels in zip(parts, photographs.seen(parts, device=device), strict=True):
        with torch.inference_mode():
            rows = network.features(pixels.to(memory_format=torch.channels_last)).cpu()
        made = dict(zip((hashes[n] for n in part.tolist()), rows.clone(), strict=True))
        found |= made
        cache.add({h: made[hashes[n]] for n, h in _readable(photographs, hashes, part)})
        progress.stepped(len(part))
    network.to("cpu")
    rows_of_all = [found[hashed] for hashed in hashes]
    return torch.stack(rows_of_all) if hashes else torch.empty(0, network.trunk.width)


def _readable(photographs: Photographs, hashes: list[str], part: Tensor) -> list[tuple[int, str]]:
    """Those of a part that are images: what stands in for others is not worth remembering."""
    names = photographs.album.names[photographs.places[part].numpy()]
    pairs = zip(part.tolist(), names, strict=True)
    return [(n, hashes[n]) for n, name in pairs if name not in photographs.unreadable]
