"""Batch norm with what follows it: a shortcut that is added, and ReLU.

As a rule torch does the three one after the other. Where it is told to, and can, one compiled
kernel does them together, in half of the passes over the memory. In a network that is held it goes
into the convolution before it.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from remanence.kernels import folded, fused
from remanence.kernels.library import library


class Norm(nn.BatchNorm2d):
    """Batch norm of images; a shortcut may be added to them, and then there may be a ReLU.

    is_fused: by the kernels, where they can do it; see `fuse`. is_held: see `hold`.
    """

    def __init__(self, channels: int, relu: bool = False) -> None:
        super().__init__(channels)
        self.relu = relu
        self.is_fused = False
        self.is_held = False
        self._folded: folded.Folded | None = None

    def forward(self, images: Tensor, shortcut: Tensor | None = None) -> Tensor:
        if self.is_fused and fused.suits(images, shortcut):
            return fused.norm(images, shortcut, self.weight, self.bias, self._use())
        seen = super().forward(images)
        if shortcut is not None:
            seen = seen + shortcut
        return F.relu(seen, inplace=True) if self.relu else seen

    def after(
        self, convolution: nn.Module, images: Tensor, shortcut: Tensor | None = None
    ) -> Tensor:
        """The same of what a convolution makes of images."""
        if not self.is_held or self.training or not folded.suits(convolution, images):
            seen: Tensor = self(convolution(images), shortcut)
            return seen
        if self._folded is None:
            assert isinstance(convolution, nn.Conv2d)
            self._folded = folded.Folded(convolution, self)
        return self._folded(images, shortcut, self.relu)

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


def hold(network: nn.Module) -> None:
    """A network will never change from now on; where kernels are wanted, that makes it faster."""
    for module in network.modules():
        if isinstance(module, Norm):
            module.is_held = module.is_fused


class ConvNorm(nn.Sequential):
    """A convolution, its norm, and whatever else follows."""

    def forward(self, images: Tensor) -> Tensor:
        convolution, norm, *rest = self
        assert isinstance(norm, Norm)
        seen = norm.after(convolution, images)
        for module in rest:
            seen = module(seen)
        return seen


def is_fusible(network: nn.Module) -> bool:
    """Whether the kernels could be of use to a network."""
    return any(isinstance(module, Norm) for module in network.modules())
