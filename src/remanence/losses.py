"""Loss terms, each a function of tensors; means are over the batch unless said."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F


def cosine_distance(features: Tensor, old_features: Tensor) -> Tensor:
    """Less-forget: mean of 1 - cos(x, x_old)."""
    return (1 - F.cosine_similarity(features, old_features)).mean()


def distillation(logits: Tensor, old_logits: Tensor, temperature: float) -> Tensor:
    """T^2 KL(softmax(z_old / T) || softmax(z / T)), over the classes that the teacher knows."""
    known = logits[:, : old_logits.shape[1]]
    believed, wanted = ((z / temperature).log_softmax(1) for z in (known, old_logits))
    return temperature**2 * F.kl_div(believed, wanted, reduction="batchmean", log_target=True)


def soft_cross_entropy(logits: Tensor, old_logits: Tensor, temperature: float) -> Tensor:
    """- sum softmax(z_old / T) log softmax(z / T), over the classes that the teacher knows."""
    known = logits[:, : old_logits.shape[1]]
    return F.cross_entropy(known / temperature, (old_logits / temperature).softmax(1))


def margin_ranking(
    scores: Tensor, labels: Tensor, old_classes: int, margin: float, rivals: int
) -> Tensor:
    """Old images should score their own class above the `rivals` best new classes by a margin.

    Mean of max(0, margin - own + rival) over old images and rivals; zero without old images.
    """
    is_old = (labels < old_classes).to(scores.dtype)
    own = scores.gather(1, labels[:, None])
    new_scores = scores[:, old_classes:]
    best_new = new_scores.topk(min(rivals, new_scores.shape[1]), dim=1).values
    too_close = F.relu(margin - own + best_new).mean(1)
    return (is_old * too_close).sum() / is_old.sum().clamp(min=1)


def topology_change(features: Tensor, old_features: Tensor) -> Tensor:
    """Minus Pearson's correlation of the images' similarities now with those before.

    Over all pairs of different images, of which the similarity is the cosine; -1 where nothing has
    changed, and two images are too few.
    """
    now, before = _similarities(features), _similarities(old_features)
    return -F.cosine_similarity(now - now.mean(), before - before.mean(), dim=0)


def _similarities(features: Tensor) -> Tensor:
    """The cosine of every image with every other one, both ways round."""
    unit, count = F.normalize(features), len(features)
    cosines = unit @ unit.T
    return cosines.flatten()[1:].view(count - 1, count + 1)[:, :-1].flatten()


def nca(logits: Tensor, labels: Tensor) -> Tensor:
    """The proxy loss of each image as PODNet's published code computes it.

    -(u_y - m) + log(1 + sum of e^(u_i - m) over i != y), m the largest logit. It is cross-entropy
    but that the image's own class counts in the sum as the largest; a margin would cancel.
    """
    shifted = logits - logits.max(1, keepdim=True).values
    own = shifted.gather(1, labels[:, None])[:, 0]
    others = shifted.exp().scatter(1, labels[:, None], 0.0).sum(1)
    return others.log1p() - own


def log_odds(logits: Tensor) -> Tensor:
    """log(p / (1 - p)) of every class: its logit against the log-sum-exp of all others."""
    nothing = torch.full_like(logits[:, :1], torch.finfo(logits.dtype).min)
    before = torch.cat([nothing, logits[:, :-1]], 1).logcumsumexp(1)
    after = torch.cat([logits[:, 1:], nothing], 1).flip(1).logcumsumexp(1).flip(1)
    return logits - torch.logaddexp(before, after)


def pod_spatial(maps: Sequence[Tensor], old_maps: Sequence[Tensor]) -> Tensor:
    """How far maps have moved, squared and summed over their height and over their width.

    The two sums of an image are one unit vector; its distance is not squared. Mean over images
    and maps, as PODNet's published code has it.
    """
    pairs = zip(maps, old_maps, strict=True)
    moved = [_unit_sums(one, True) - _unit_sums(other, True) for one, other in pairs]
    return torch.stack([torch.linalg.vector_norm(move, dim=1).mean() for move in moved]).mean()


def pod_spatial_squared(maps: Sequence[Tensor], old_maps: Sequence[Tensor]) -> Tensor:
    """The same as PODNet's paper has it: all maps but the last, both sums apart, and squared."""
    pairs = list(zip(maps, old_maps, strict=True))[:-1]
    moved = [_unit_sums(one, False) - _unit_sums(other, False) for one, other in pairs]
    return torch.stack([move.square().sum(1).mean() for move in moved]).mean()


def _unit_sums(stage: Tensor, jointly: bool) -> Tensor:
    """The squares of a map summed over height and over width: one unit vector, or one for each."""
    squares = stage.float().square()
    sums = [squares.sum(2).flatten(1), squares.sum(3).flatten(1)]
    if jointly:
        return F.normalize(torch.cat(sums, 1))
    return torch.cat([F.normalize(one) for one in sums], 1)
