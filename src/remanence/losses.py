"""Loss terms, each a function of tensors; means are over the batch unless said."""

from __future__ import annotations

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
