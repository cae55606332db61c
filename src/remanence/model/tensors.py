"""Tensors of a model in safetensors files, which must hold just what is expected of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

import safetensors
import safetensors.torch
from torch import Tensor

from remanence.core import files
from remanence.core.errors import FolderError

Shapes = Mapping[str, Tensor]


def save(path: Path, tensors: Mapping[str, Tensor], like: Path | None = None) -> None:
    """Write tensors; where a file like it holds the same already, no second copy is made."""
    content = safetensors.torch.save(
        {name: one.detach().cpu().contiguous().clone() for name, one in tensors.items()}
    )
    with contextlib.suppress(OSError):
        if like is not None and like.read_bytes() == content:
            os.link(like, path)
            return
    files.write(path, content)


def size(path: Path) -> int:
    """The bytes of a file of tensors; none where it is not there."""
    return path.stat().st_size if path.is_file() else 0


def load(path: Path, expected: Shapes) -> dict[str, Tensor]:
    """The tensors in a file: those of the expected names, shapes and kinds, and no other."""
    try:
        found = safetensors.torch.load_file(path)
    except OSError as error:
        raise FolderError(f"cannot read {path}: {error.strerror or error}") from None
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise FolderError(f"cannot read {path}: it is damaged, or no model ({error})") from None
    for name in sorted(expected.keys() | found.keys()):
        wrong = _wrong(found.get(name), expected.get(name))
        if wrong:
            raise FolderError(f"cannot read {path}: {name} {wrong}; it is damaged, or no model")
    return found


def _wrong(found: Tensor | None, expected: Tensor | None) -> str | None:
    if found is None or expected is None:
        return "is missing" if found is None else "is not expected there"
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"is {_kind(found)}, not {_kind(expected)}"
    return None


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
