"""A safetensors file: the weights by name; what they are is JSON in its header, as `about`.

trunk.*         the network that makes features of images
weight, bias    logits are weight . transform(features) + bias
mean, std       what is taken from pixels / 255, and what divides them then
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from remanence.augment import Augmentation
from remanence.core.errors import FolderError
from remanence.core.json_text import parsed
from remanence.exporting.subject import Subject
from remanence.model.classifier import TRANSFORMS, Classifier
from remanence.model.trunk import trunk_like

ABOUT = "about"  # the entry of the header
UNSET = Augmentation(mean=(0.0,), std=(1.0,))  # until that of the file is known


@dataclass(frozen=True)
class Tensors:
    """The format."""

    def check_installed(self) -> None:
        """It takes nothing that is not there."""

    def content(self, subject: Subject) -> bytes:
        """The file."""
        network = subject.network
        tensors = dict(network.state_dict()) | {"mean": network.mean, "std": network.std}
        whole = {name: one.contiguous().clone() for name, one in tensors.items()}
        # One entry only: several would be written in an order that changes.
        return safetensors.torch.save(whole, {ABOUT: json.dumps(subject.about)})

    def reader(self, path: Path) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        """Pixels to logits and probabilities, as the file has it."""
        network, _ = read_tensors(path, own_code=True)

        def answer(pixels: Tensor) -> tuple[Tensor, Tensor]:
            with torch.inference_mode():
                logits = network.logits(network.features(pixels))
            return logits, logits.softmax(1)

        return answer


def read_tensors(path: str | Path, own_code: bool = False) -> tuple[Classifier, dict[str, Any]]:
    """The network in a file, and what the file says of it.

    own_code: the file may name a module to import.
    """
    try:
        with safetensors.safe_open(path, "pt") as file:
            about = parsed((file.metadata() or {})[ABOUT])
            names: Sequence[str] = file.keys()
            tensors = {name: file.get_tensor(name) for name in names}
        return _network(tensors, about["network"], own_code), about
    except OSError as error:
        raise FolderError(f"cannot read {path}: {error.strerror or error}") from None
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        why = " ".join(str(error).split())
        raise FolderError(f"cannot read {path}: it is damaged, or no export ({why})") from None


def _network(tensors: Mapping[str, Tensor], about: Mapping[str, Any], own_code: bool) -> Classifier:
    if about["transform"] not in TRANSFORMS:
        raise ValueError(f"no transform is called {about['transform']}")
    there_are = sum(one.nbytes for one in tensors.values())
    trunk = trunk_like(about["backbone"], own_code, there_are, about["shape"][0])
    classes = len(tensors["bias"])
    network = Classifier(trunk, UNSET, about["transform"], classes)
    network.mean, network.std = tensors["mean"], tensors["std"]
    rest = {name: one for name, one in tensors.items() if name not in ("mean", "std")}
    network.load_state_dict(rest)
    return network.eval().requires_grad_(False)
