"""A network is a trunk and a head; what it says about a batch is an `Output`."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from remanence.backbones.base import Seen, Trunk
from remanence.core import ranks
from remanence.heads import Head
from remanence.kernels.norm import fuse, hold

EVALUATION_BATCH = 500


@dataclass(frozen=True)
class Output:
    """What a network says about a batch.

    features: pooled, raw. logits: what softmax takes. scores: logits before any learned scale.
    maps: the trunk's stages, for methods that compare them.
    """

    features: Tensor
    logits: Tensor
    scores: Tensor
    maps: tuple[Tensor, ...] = ()

    def __getitem__(self, indices: Tensor | slice) -> Output:
        maps = tuple(stage[indices] for stage in self.maps)
        return Output(self.features[indices], self.logits[indices], self.scores[indices], maps)


def softmax(out: Output) -> Tensor:
    """What an output says of every class, as probabilities."""
    return out.logits.softmax(1)


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """In this context a trunk computes in bfloat16, if that is the precision."""
    return torch.autocast(device.type, torch.bfloat16, precision == "bfloat16")


class Network(nn.Module):
    """Images to outputs; the trunk may compute in bfloat16, the head never does."""

    def __init__(
        self, trunk: Trunk, head: Head, precision: str = "float32", kernels: str = "plain"
    ) -> None:
        super().__init__()
        self.trunk = trunk.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.head = head
        self.precision = precision
        fuse(self.trunk, kernels == "fused")

    def forward(self, images: Tensor) -> Output:
        seen = self._seen(images)
        return self.said(seen.features.float(), seen.maps)

    def of_share(self, images: Tensor, whole: int, with_maps: bool) -> Output:
        """What it says of a batch of so many images, of which every rank sees its share."""
        seen = self._seen(images)
        maps = seen.maps if with_maps else ()
        gathered = [ranks.gathered(one.float(), whole) for one in (seen.features, *maps)]
        return self.said(gathered[0], tuple(gathered[1:]))

    def _seen(self, images: Tensor) -> Seen:
        images = images.to(memory_format=torch.channels_last)
        with autocast(images.device, self.precision):
            seen: Seen = self.trunk(images)
        return seen

    def said(self, features: Tensor, maps: tuple[Tensor, ...] = ()) -> Output:
        """What it says of features that its trunk has seen."""
        verdict = self.head(features)
        return Output(features, verdict.logits, verdict.scores, maps)

    def frozen(self) -> Network:
        """A copy that never changes: the teacher of the next session."""
        copied = copy.deepcopy(self).eval().requires_grad_(False)
        hold(copied.trunk)
        return copied


@contextlib.contextmanager
def in_eval_mode(network: nn.Module) -> Iterator[None]:
    """For a while, batch norm uses its running statistics; gradients still flow."""
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, was_training in modes:
            module.training = was_training


@contextlib.contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """For a while, the network is in eval mode and nothing is recorded for gradients."""
    with in_eval_mode(network), torch.no_grad():
        yield


@contextlib.contextmanager
def statistics_untouched(network: nn.Module) -> Iterator[None]:
    """For a while, batch norm uses the batch but leaves its running statistics bit-identical."""
    norms = [m for m in network.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    tracked = [norm.track_running_stats for norm in norms]
    for norm in norms:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm, was in zip(norms, tracked, strict=True):
            norm.track_running_stats = was
