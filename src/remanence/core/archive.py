"""Trees of tensors and plain values in one safetensors file: never a pickle.

The file carries a hash of itself, so that a flipped bit is noticed and not learned from.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import safetensors

from remanence.core import files
from remanence.core.errors import FolderError
from remanence.core.json_text import parsed

if TYPE_CHECKING:
    from torch import Tensor

_ENTRY = "remanence"
_UNSIGNED = "0" * 32
_DAMAGE = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


def save(path: Path, tree: Any) -> None:
    """Write dicts, lists, tuples, tensors, numbers, text and None; see `load`."""
    import safetensors.torch

    tensors: dict[str, Tensor] = {}
    skeleton = json.dumps(_flatten(tree, "", tensors))
    # One entry only, hash first: several would be written in an order that changes.
    metadata = {_ENTRY: json.dumps({"hash": _UNSIGNED, "tree": skeleton})}
    content = safetensors.torch.save(tensors, metadata)
    files.write(path, _exchanged(content, _UNSIGNED, _hash(content)))


def load(path: Path) -> Any:
    """The tree that was saved: the same values; tuples come back as lists, keys as text."""
    import safetensors.torch

    return _load(path, safetensors.torch.load)


def load_arrays(path: Path) -> Any:
    """The same with arrays in place of tensors, for those who do without torch."""
    import safetensors.numpy

    return _load(path, safetensors.numpy.load)


def check(path: Path) -> None:
    """Raise a FolderError unless it is what was saved, bit by bit."""
    with _said_in_one_line(path):
        _whole(path)


def _load(path: Path, parse: Callable[[bytes], Mapping[str, Any]]) -> Any:
    with _said_in_one_line(path):
        content, skeleton = _whole(path)
        return _restore(parsed(skeleton), parse(content))


def _whole(path: Path) -> tuple[bytes, str]:
    """What a file holds, and the skeleton of its tree, if its hash says that it is undamaged."""
    content = path.read_bytes()
    metadata = _metadata(content)
    if _hash(_exchanged(content, metadata["hash"], _UNSIGNED)) != metadata["hash"]:
        raise ValueError("it is damaged")
    return content, metadata["tree"]


@contextlib.contextmanager
def _said_in_one_line(path: Path) -> Iterator[None]:
    try:
        yield
        return
    except OSError as error:
        reason = error.strerror or str(error)
    except (*_DAMAGE, struct.error, safetensors.SafetensorError):
        reason = "it is damaged, or no file of ours"
    raise FolderError(f"cannot read {path}: {reason}; delete it to go on without it") from None


def _metadata(content: bytes) -> dict[str, str]:
    (length,) = struct.unpack("<Q", content[:8])
    header = parsed(content[8 : 8 + length])
    return dict(parsed(header["__metadata__"][_ENTRY]))


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=len(_UNSIGNED) // 2).hexdigest()


def _exchanged(content: bytes, old: str, new: str) -> bytes:
    """The same file with another hash written into its header."""
    return content.replace(old.encode(), new.encode(), 1)


def _flatten(value: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    """JSON in which an array is a tensor or a list: ["tensor", name] or ["list", ...]."""
    from torch import Tensor

    if isinstance(value, Tensor):
        name = str(len(tensors))
        tensors[name] = value.detach().cpu().contiguous().clone()
        return ["tensor", name]
    if isinstance(value, Mapping):
        return {str(key): _flatten(item, f"{path}/{key}", tensors) for key, item in value.items()}
    if isinstance(value, list | tuple):
        parts = (_flatten(item, f"{path}/{place}", tensors) for place, item in enumerate(value))
        return ["list", *parts]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"cannot keep a {type(value).__name__} at '{path}'")


def _restore(value: Any, tensors: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _restore(item, tensors) for key, item in value.items()}
    if isinstance(value, list):
        kind, *rest = value
        return tensors[rest[0]] if kind == "tensor" else [_restore(item, tensors) for item in rest]
    return value
