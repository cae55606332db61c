"""Several processes that learn one network together, started by torchrun: who is here, and the few
things that they tell each other.

Every rank runs the whole program on the same seed. What is costly is shared: each one's trunk sees
a share of a batch, and what it makes of it is gathered, so that heads, losses, lenses and memory
work on the whole batch everywhere and need not know. After each step gradients and the running
statistics of batch norm are averaged. So what is learned is the same on each rank at any time, and
the first one can write it down for all. Without torchrun there is one rank, and nothing is said.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from remanence.core.errors import RemanenceError


def asked_for() -> int:
    """How many processes torchrun has started for this run."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def count() -> int:
    """How many ranks learn together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def number() -> int:
    """Which of them this process is, from 0."""
    return dist.get_rank() if dist.is_initialized() else 0


def is_first() -> bool:
    """Whether this process speaks and writes for all."""
    return os.environ.get("RANK", "0") == "0"


@contextlib.contextmanager
def joined() -> Iterator[None]:
    """While this lasts, the processes that torchrun has started learn together."""
    if asked_for() == 1 or dist.is_initialized():
        yield
        return
    has_cuda = torch.cuda.is_available()
    if has_cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    with _said_in_one_line():
        dist.init_process_group("cpu:gloo,cuda:nccl" if has_cuda else "gloo")
    try:
        yield
    finally:
        gc.collect()  # gloo may abort at exit while something still holds on to the group
        dist.destroy_process_group()


def share(rows: Tensor) -> Tensor:
    """The part of some rows that this rank takes care of: all, where not everyone would get one."""
    return rows if len(rows) < count() else rows.tensor_split(count())[number()]


def gathered(rows: Tensor, whole: int) -> Tensor:
    """The rows of all ranks' shares in order, `whole` of them; gradients find their way back."""
    if len(rows) == whole:
        return rows
    gathers: Any = _Gather.apply
    with _said_in_one_line():
        result: Tensor = gathers(rows.contiguous(), whole)
    return result


class _Gather(torch.autograd.Function):
    """All ranks compute one loss from what is gathered, and their gradients are averaged: each
    must bring those of its own share as often as there are ranks."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, whole: int) -> Tensor:
        sizes = [len(part) for part in torch.empty(whole).tensor_split(count())]
        ctx.start, ctx.rows = sum(sizes[: number()]), len(rows)
        # One size for all, because gloo and NCCL want it so.
        padded = rows.new_zeros(max(sizes), *rows.shape[1:])
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        own = gradients[0][ctx.start : ctx.start + ctx.rows]
        return own * count(), None


def average(tensors: Iterable[Tensor]) -> None:
    """Put the mean over all ranks into floating tensors, in place and in one message."""
    several = [one for one in tensors if one.is_floating_point()]
    if count() == 1 or not several:
        return
    flat = torch.cat([one.detach().flatten().float() for one in several])
    with _said_in_one_line():
        dist.all_reduce(flat)
    flat /= count()
    with torch.no_grad():
        for one, mean in zip(several, flat.split([one.numel() for one in several]), strict=True):
            one.copy_(mean.view_as(one))


def average_step(moving: Sequence[nn.Parameter], network: nn.Module) -> None:
    """After a backward pass: gradients, and the running statistics of batch norm."""
    gradients = [one.grad for one in moving if one.grad is not None]
    average([*gradients, *network.buffers()])


def any_of(here: bool) -> bool:
    """Whether it is so on any rank."""
    return any(bool(value) for value in _told(int(here)))


def first_of(value: int) -> int:
    """The value that the first rank has."""
    return _told(value)[0]


def check_same(digest: str) -> None:
    """Raise a RemanenceError unless every rank has this; hexadecimal digits."""
    if len(set(_told(int(digest[:15], 16)))) > 1:
        raise RemanenceError(
            "the ranks do not remember the same images: run them on machines of one kind"
        )


def wait() -> None:
    """Until every rank is here."""
    _told(0)


def _told(value: int) -> list[int]:
    """What each rank says."""
    if count() == 1:
        return [value]
    own = torch.tensor([value])
    parts = [torch.empty_like(own) for _ in range(count())]
    with _said_in_one_line():
        dist.all_gather(parts, own)
    return [int(part) for part in parts]


@contextlib.contextmanager
def _said_in_one_line() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise RemanenceError(
            f"rank {os.environ.get('RANK', 0)}: another process of this run has stopped; what it "
            "said is above, and the same command goes on"
        ) from error
