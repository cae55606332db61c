"""Batch norm, shortcut and ReLU as one function with its gradient: what `norm.c` does, for torch.

It needs images on the CPU in float32 or bfloat16, channels-last, of which the channels come in 16s;
weight and bias are float32.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from remanence.kernels.library import library

LANES = 16
POINTERS = (
    *("input", "shortcut", "weight", "bias", "running_mean", "running_variance"),
    *("mean", "inverse", "output"),
    *("slope", "input_slope", "shortcut_slope", "weight_slope", "bias_slope"),
)


class Use(NamedTuple):
    """How batch norm is to be done.

    running: mean and variance, to be used, or with `learns` to be moved towards the batch's own.
    """

    running: tuple[Tensor, Tensor] | None
    learns: bool
    relu: bool
    epsilon: float
    momentum: float


def suits(images: Tensor, shortcut: Tensor | None) -> bool:
    """Whether the kernels are made for this."""
    is_known = images.device.type == "cpu" and images.dtype in (torch.float32, torch.bfloat16)
    alike = shortcut is None or (shortcut.dtype, shortcut.shape) == (images.dtype, images.shape)
    return is_known and alike and images.shape[1] % LANES == 0 and images.numel() > 0


def norm(images: Tensor, shortcut: Tensor | None, weight: Tensor, bias: Tensor, use: Use) -> Tensor:
    """What batch norm makes of images, with the shortcut added and through ReLU."""
    seen: Tensor = _Fused.apply(images, shortcut, weight, bias, use)  # type: ignore[no-untyped-call]
    return seen


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, images: Tensor, shortcut: Tensor | None, weight: Tensor, bias: Tensor, use: Use
    ) -> Tensor:
        images = _packed(images)
        seen = torch.empty_like(images)
        mean, inverse = torch.empty_like(weight), torch.empty_like(weight)
        running_mean, running_variance = use.running or (None, None)
        _call(
            *("norm_forward", images, use),
            input=images,
            shortcut=None if shortcut is None else (shortcut := _packed(shortcut)),
            weight=weight,
            bias=bias,
            running_mean=running_mean,
            running_variance=running_variance,
            mean=mean,
            inverse=inverse,
            output=seen,
        )
        ctx.use, ctx.adds = use, shortcut is not None
        kept = seen if ctx.adds and use.relu else None
        ctx.save_for_backward(images, weight, bias, mean, inverse, kept)
        return seen

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        images, weight, bias, mean, inverse, seen = ctx.saved_tensors
        slope = _packed(slope)
        images_slope = torch.empty_like(images)
        shortcut_slope = slope if seen is None else torch.empty_like(images)
        weight_slope, bias_slope = torch.empty_like(weight), torch.empty_like(bias)
        _call(
            *("norm_backward", images, ctx.use),
            input=images,
            shortcut=seen,  # there is one, that is all that counts
            weight=weight,
            bias=bias,
            mean=mean,
            inverse=inverse,
            output=seen,
            slope=slope,
            input_slope=images_slope,
            shortcut_slope=shortcut_slope,
            weight_slope=weight_slope,
            bias_slope=bias_slope,
        )
        return images_slope, shortcut_slope if ctx.adds else None, weight_slope, bias_slope, None


class _Arguments(ctypes.Structure):
    """The struct Norm of `norm.c`, field by field."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in POINTERS),
        *((name, ctypes.c_int64) for name in ("rows", "channels")),
        *((name, ctypes.c_double) for name in ("momentum", "epsilon")),
        *((name, ctypes.c_int32) for name in ("halves", "cuts", "learns", "threads")),
    )


def _call(name: str, images: Tensor, use: Use, **tensors: Tensor | None) -> None:
    arguments = _Arguments(
        rows=images.numel() // images.shape[1],
        channels=images.shape[1],
        momentum=use.momentum,
        epsilon=use.epsilon,
        halves=images.dtype == torch.bfloat16,
        cuts=use.relu,
        learns=use.learns,
        threads=torch.get_num_threads(),
        **{key: one.data_ptr() for key, one in tensors.items() if one is not None},
    )
    if getattr(library(), name)(ctypes.byref(arguments)):
        raise MemoryError(f"{name}: no memory for {images.shape[1]} channels")


def _packed(images: Tensor) -> Tensor:
    return images.contiguous(memory_format=torch.channels_last)
