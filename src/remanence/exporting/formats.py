"""The files that a network is exported to, by the ending of their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from torch import Tensor

from remanence.core.errors import SettingsError
from remanence.exporting.onnx_file import Onnx
from remanence.exporting.subject import Subject
from remanence.exporting.tensors_file import Tensors


class Format(Protocol):
    """How a network becomes a file, and how that file is asked."""

    def check_installed(self) -> None:
        """Raise a SettingsError where something that it takes is not installed."""

    def content(self, subject: Subject) -> bytes:
        """The file."""
        ...

    def reader(self, path: Path) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        """Pixels to logits and probabilities, as the file has it."""
        ...


def format_of(path: Path, pixels: str) -> Format:
    """The format that the ending of a name stands for."""
    if path.suffix == ".onnx":
        return Onnx(pixels)
    if path.suffix == ".safetensors":
        return Tensors()
    raise SettingsError(f"cannot export to '{path.name}': end its name in .onnx or .safetensors")
