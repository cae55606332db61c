"""Batch norm with what follows it: a shortcut that is added, and ReLU.

As a rule torch does the three one after the other. Where it is told to, and can, one compiled
kernel does them together, in half of the passes over the memory.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from remanence.kernels import fused
from remanence.kernels.library import library


class Norm(nn.BatchNorm2d):
    """Batch norm of images; a shortcut may be added to them, and then there may be a ReLU.

    is_fused: by the kernels, where they can do it; see `fuse`.
    """

    def __init__(self, channels: int, relu: bool = False) -> None:
        super().__init__(channels)
        self.relu = relu
        self.is_fused = False

    def forward(self, images: Tensor, shortcut: Tensor | None = None) -> Tensor:
        if self.is_fused and fused.suits(images, shortcut):
            return fused.norm(images, shortcut, self.weight, self.bias, self._use())
        seen = super().forward(images)
        if shortcut is not None:
            seen = seen + shortcut
        return F.relu(seen, inplace=True) if self.relu else seen

    def _use(self) -> fused.Use:
        """How batch norm is to be done now, by the rules of torch."""
        assert self.momentum is not None and self.num_batches_tracked is not None
        assert self.running_mean is not None and self.running_var is not None
        statistics = (self.running_mean, self.running_var)
        tracks = self.training and self.track_running_stats
        if tracks:
            self.num_batches_tracked.add_(1)
        return fused.Use(
            running=statistics if tracks or not self.training else None,
            learns=self.training,
            relu=self.relu,
            epsilon=self.eps,
            momentum=self.momentum,
        )


def fuse(network: nn.Module, wanted: bool) -> None:
    """Let the norms of a network use the kernels, or not; where there are none, torch remains."""
    wanted = wanted and is_fusible(network) and library() is not None
    for module in network.modules():
        if isinstance(module, Norm):
            module.is_fused = wanted


def is_fusible(network: nn.Module) -> bool:
    """Whether the kernels could be of use to a network."""
    return any(isinstance(module, Norm) for module in network.modules())
