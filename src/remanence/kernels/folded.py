"""Convolution, batch norm, shortcut and ReLU as one operation, for a network that never changes.

In eval mode batch norm is a factor and an offset for each channel: both go into the weights of the
convolution before it, and oneDNN adds the shortcut and cuts what is negative as it writes. It has
no gradient, and gives other last bits.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

DTYPES = (torch.float32, torch.bfloat16)


def suits(convolution: nn.Module, images: Tensor) -> bool:
    """Whether it can be done here and now."""
    return (
        isinstance(convolution, nn.Conv2d)
        and convolution.padding_mode == "zeros"
        and not isinstance(convolution.padding, str)
        and images.device.type == "cpu"
        and _dtype(images) in DTYPES
        and not torch.is_grad_enabled()
        and torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_convolution_pointwise")  # torch's compiler stands on it too
    )


class Folded:
    """A convolution with its batch norm in it, one for each precision that is asked for."""

    def __init__(self, convolution: nn.Conv2d, norm: nn.BatchNorm2d) -> None:
        mean, variance = norm.running_mean, norm.running_var
        assert mean is not None and variance is not None
        factor = norm.weight / (variance + norm.eps).sqrt()
        offset = norm.bias - mean * factor
        if convolution.bias is not None:
            offset = offset + convolution.bias * factor
        self._weight, self._offset = convolution.weight * factor.view(-1, 1, 1, 1), offset
        padding, stride = list(convolution.padding), list(convolution.stride)
        self._how = (padding, stride, list(convolution.dilation), convolution.groups)
        self._cast: dict[torch.dtype, tuple[Tensor, Tensor]] = {}

    def __call__(self, images: Tensor, shortcut: Tensor | None, relu: bool) -> Tensor:
        dtype = _dtype(images)
        images = images.to(dtype, memory_format=torch.channels_last)
        parts, what = self._in(dtype), torch.ops.mkldnn._convolution_pointwise
        if shortcut is None:
            said: Tensor = what(images, *parts, *self._how, "relu" if relu else "none", [], "")
        else:
            shortcut = shortcut.to(dtype, memory_format=torch.channels_last)
            cut = "relu" if relu else None
            said = what.binary(images, shortcut, *parts, *self._how, "add", 1.0, cut, [], None)
        return said

    def _in(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        if dtype not in self._cast:
            weight = self._weight.to(dtype, memory_format=torch.channels_last)
            self._cast[dtype] = weight, self._offset.to(dtype)
        return self._cast[dtype]


def _dtype(images: Tensor) -> torch.dtype:
    """In which a convolution of them would be computed."""
    if torch.is_autocast_enabled("cpu"):
        return torch.get_autocast_dtype("cpu")
    return images.dtype
