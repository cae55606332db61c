"""Trees of tensors and plain values in one safetensors file: never a pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from remanence.core import files
from remanence.core.errors import FolderError

_TENSOR = "tensor:"


def save(path: Path, tree: Any) -> None:
    """Write dicts, lists, tuples, tensors, numbers, text and None; see `load`."""
    tensors: dict[str, torch.Tensor] = {}
    skeleton = json.dumps(_flatten(tree, "", tensors))
    files.write(path, safetensors.torch.save(tensors, {"tree": skeleton}))


def load(path: Path) -> Any:
    """The tree that was saved: the same values, tuples come back as lists."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            skeleton = json.loads(file.metadata()["tree"])
            return _restore(skeleton, file)
    except (OSError, KeyError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise FolderError(f"cannot read {path}: {error}; delete it to go back one step") from None


def _flatten(value: Any, path: str, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        tensors[path] = value.detach().cpu().contiguous().clone()
        return _TENSOR + path
    if isinstance(value, dict):
        return {str(key): _flatten(item, f"{path}/{key}", tensors) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_flatten(item, f"{path}/{index}", tensors) for index, item in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"cannot keep a {type(value).__name__} at '{path}'")


def _restore(value: Any, file: Any) -> Any:
    if isinstance(value, str) and value.startswith(_TENSOR):
        return file.get_tensor(value.removeprefix(_TENSOR))
    if isinstance(value, dict):
        return {key: _restore(item, file) for key, item in value.items()}
    if isinstance(value, list):
        return [_restore(item, file) for item in value]
    return value
