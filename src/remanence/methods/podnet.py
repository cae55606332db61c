"""PODNet (ECCV 2020): distilled sums of feature maps, and a classifier with several proxies."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from remanence.clusters import centres
from remanence.core.errors import SettingsError
from remanence.core.settings import AtLeastOne, AtLeastZero, NotNegative, Positive, filled, settings
from remanence.data.base import Data, Scale
from remanence.effects.base import Effect
from remanence.effects.nearest_mean import NearestMean
from remanence.heads import Head, ProxyHead, Removal
from remanence.loader import Batch, Pool
from remanence.losses import cosine_distance, log_odds, nca, pod_spatial, pod_spatial_squared
from remanence.methods.base import Method, Stage, all_but_old_rows
from remanence.network import Network, Output, evaluating, softmax
from remanence.schedule import Training
from remanence.session import Session

LARGEST_GRADIENT = 5.0


def _cosine(published: Training, augmentation: str | None = None) -> Training:
    return dataclasses.replace(published, schedule="cosine", augmentation=augmentation)


@settings
class Podnet(Method):
    """Pooled Outputs Distillation for Small-Tasks Incremental Learning.

    tuned_for: the rule of prediction, cnn or nme, whose published settings are taken.
    flat, spatial: weights of the distillation of features and of maps, both times
        sqrt(all classes / new classes) (published: 1 and 3, for nme 5, on CIFAR; 10 and 8 on
        ImageNet; else CIFAR's).
    spatial_form: code (both sums of a map are one unit vector, distances, all maps) or paper
        (sums apart, squared distances, all maps but the last).
    nca: the classification loss. code (as the published program computes it, whose margin
        cancels), paper (with margin, the own class left out of the sum, not below 0) or ce.
    margin: of the paper's form.
    proxies, sharpness: how many speak for each class, and the factor on unit vectors (published:
        1, for nme 3).
    finetune_epochs, finetune_rate: a last stage on the exemplars of all classes, proxies only
        (published: 20 epochs at 0.05 on CIFAR, 0.01 on ImageNet; else CIFAR's).
    freeze_bn: whether that stage leaves the statistics of batch norm; the published code does not.
    mer: how the effect momentum takes a direction from the classifier. linear keeps the attention
        of the whole feature, own_attention gives each part its own, rerun runs the classifier on
        what is left.
    """

    schedules: ClassVar[Mapping[Scale, Training]] = {
        "digits": _cosine(Training.steps(20, (), weight_decay=5e-4, batch=32)),
        "cifar": _cosine(Training.steps(160, (), weight_decay=5e-4), "cifar_pod"),
        "imagenet_sub": _cosine(
            Training.steps(90, (), weight_decay=5e-4, rate=0.05, batch=64), "imnet_pod"
        ),
        "imagenet_full": _cosine(
            Training.steps(90, (), weight_decay=1e-4, rate=0.05, batch=64), "imnet_pod"
        ),
    }
    captures: ClassVar[bool] = True
    compares_maps: ClassVar[bool] = True
    chooses_again: ClassVar[bool] = True

    tuned_for: Literal["cnn", "nme"] = "cnn"
    flat: NotNegative | None = None
    spatial: NotNegative | None = None
    spatial_form: Literal["code", "paper"] = "code"
    nca: Literal["code", "paper", "ce"] = "code"
    margin: NotNegative = 0.6
    proxies: AtLeastOne = 10
    sharpness: Positive | None = None
    finetune_epochs: AtLeastZero = 20
    finetune_rate: Positive | None = None
    freeze_bn: bool = False
    mer: Removal = "linear"

    def head(self, width: int) -> Head:
        assert self.sharpness is not None, "filled from the data"
        return ProxyHead(width, self.proxies, self.sharpness, self.mer)

    def resolved(self, data: Data) -> Self:
        of_photographs = data.scale.startswith("imagenet")
        for_nme = self.tuned_for == "nme"
        published = dataclasses.replace(
            self,
            flat=10.0 if of_photographs else 1.0,
            spatial=8.0 if of_photographs else 5.0 if for_nme else 3.0,
            sharpness=3.0 if for_nme else 1.0,
            finetune_rate=0.01 if of_photographs else 0.05,
        )
        return filled(self, published)

    def backbone(self, data: Data) -> Mapping[str, Any]:
        if data.scale == "cifar":
            return {"name": "resnet32_rebuffi"}
        return {"name": "resnet18" if data.scale.startswith("imagenet") else data.backbone}

    def base_signature(self) -> dict[str, Any]:
        return {
            "head": ["proxies", self.proxies, self.sharpness],
            "loss": [self.nca, self.margin if self.nca == "paper" else None],
        }

    def rows(self, network: Network, pool: Pool, classes: range) -> Tensor:
        if classes.start == 0:
            self._check_maps(network, pool)
            return network.head.fresh_rows(len(classes))
        return imprinted(network, pool, classes, self.proxies)

    def classify(self, seen: Output, labels: Tensor, session: Session) -> Tensor:
        if self.nca == "code":
            return nca(seen.logits, labels)
        if self.nca == "paper":
            return F.relu(-self._log_ratios(seen).gather(1, labels[:, None])[:, 0])
        return super().classify(seen, labels, session)

    def probabilities(self, out: Output) -> Tensor:
        """Softmax, which `code` falls short of where the label is not the best class."""
        return self._log_ratios(out).clamp(max=0).exp() if self.nca == "paper" else softmax(out)

    def preserve(
        self, out: Output, old: Output, batch: Batch, session: Session
    ) -> dict[str, Tensor]:
        assert self.flat is not None and self.spatial is not None, "filled from the data"
        growth = math.sqrt(session.classes / session.new_classes)
        terms = {"flat": self.flat * growth * cosine_distance(out.features, old.features)}
        if self.spatial:
            moved = pod_spatial if self.spatial_form == "code" else pod_spatial_squared
            terms["spatial"] = self.spatial * growth * moved(out.maps, old.maps)
        return terms

    def stages(self, session: Session) -> tuple[Stage, ...]:
        main = self.main_stage(session, all_but_old_rows)
        main = dataclasses.replace(main, clamp=LARGEST_GRADIENT)
        if not self.finetune_epochs or session.teacher is None or session.keep == 0:
            return (main,)
        schedule = dataclasses.replace(
            session.training, rate=self.finetune_rate, schedule="steps", drops=()
        )
        balanced = Stage(
            "balanced",
            schedule,
            self.finetune_epochs,
            trained=lambda network: network.head.rows(),
            on_exemplars=True,
            is_main=False,
            distils=False,  # it would move nothing that is trained
            freezes_statistics=self.freeze_bn,
            clamp=LARGEST_GRADIENT,
        )
        return (main, balanced)

    def rules(self) -> dict[str, tuple[Effect, ...]]:
        rules: dict[str, tuple[Effect, ...]] = {"cnn": (), "nme": (NearestMean(),)}
        return rules if self.tuned_for == "cnn" else dict(reversed(rules.items()))

    def _log_ratios(self, out: Output) -> Tensor:
        """log(e^(scale (y_c - margin)) / sum of e^(scale y_i) over i != c).

        The margin does not move the scale: it would drive it below 0, where each loss is 0.
        """
        scale = (out.logits.sum() / out.scores.sum()).detach()  # scores are never positive
        return log_odds(out.logits) - scale * self.margin

    def _check_maps(self, network: Network, pool: Pool) -> None:
        """Raise a SettingsError where the backbone shows too few maps to be compared."""
        wanted = {"code": 1, "paper": 2}[self.spatial_form] if self.spatial else 0
        with evaluating(network):
            maps = network.trunk(pool.test_view(pool.everything[:1])).maps
        if len(maps) < wanted:
            raise SettingsError(
                f"backbone: it shows {len(maps)} maps, but PODNet compares {wanted} or more; "
                "choose another, or method.spatial=0"
            )


def imprinted(network: Network, pool: Pool, classes: range, proxies: int) -> Tensor:
    """Proxies of new classes: the centres of their unit features, times the old proxies' length."""
    labels, blocks = pool.labels, []
    for label in classes:
        members = torch.nonzero(labels == label).flatten()
        unit = F.normalize(pool.outputs(network, members).features)
        seed = int(torch.randint(2**31 - 1, ()))
        blocks.append(centres(unit, proxies, seed))
    return network.head.row_norm() * torch.stack(blocks)
