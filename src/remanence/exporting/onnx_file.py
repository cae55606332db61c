"""An ONNX file: pixels to logits and probabilities, for any number of images at once."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from remanence.core.errors import SettingsError
from remanence.exporting.subject import Subject
from remanence.model.classifier import Classifier

if TYPE_CHECKING:
    from torch.onnx import ONNXProgram

TAKES = ("onnx", "onnxscript", "onnxruntime")
OPSET = 18  # of every runtime since 2023
LARGEST = 2_000_000_000  # bytes; more does not fit into one file of this format
INPUT, OUTPUTS = "pixels", ("logits", "probabilities")
EXAMPLES = 2  # images; one alone would be taken for the only number there may be


@dataclass(frozen=True)
class Onnx:
    """The format. pixels: uint8 or float32, of the input; both in 0..255."""

    pixels: str = "uint8"

    def check_installed(self) -> None:
        """It takes the extra `export`."""
        missing = [name for name in TAKES if find_spec(name) is None]
        if missing:
            raise SettingsError(
                f"writing ONNX takes {', '.join(missing)}: pip install 'remanence[export]', or "
                "export to a name that ends in .safetensors"
            )

    def content(self, subject: Subject) -> bytes:
        """The file."""
        weights = sum(one.nbytes for one in subject.network.state_dict().values())
        if weights > LARGEST:
            raise SettingsError(
                f"{weights / 1e9:.1f} GB of weights do not fit into one ONNX file: export to a "
                "name that ends in .safetensors"
            )
        program = _exported(subject, torch.zeros(EXAMPLES, *subject.shape, dtype=self._kind))
        model = program.model_proto
        for key, value in subject.about.items():
            entry = model.metadata_props.add()
            entry.key, entry.value = key, json.dumps(value, ensure_ascii=False)
        content: bytes = model.SerializeToString(deterministic=True)
        return content

    def reader(self, path: Path) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        """Pixels to logits and probabilities, as onnxruntime has it."""
        from onnxruntime import InferenceSession

        session = InferenceSession(path, providers=["CPUExecutionProvider"])

        def answer(pixels: Tensor) -> tuple[Tensor, Tensor]:
            given = {INPUT: pixels.to(self._kind).numpy()}
            logits, probabilities = session.run(list(OUTPUTS), given)
            return torch.from_numpy(logits), torch.from_numpy(probabilities)

        return answer

    @property
    def _kind(self) -> torch.dtype:
        kind: torch.dtype = getattr(torch, self.pixels)
        return kind


class _Graph(nn.Module):
    def __init__(self, network: Classifier) -> None:
        super().__init__()
        self.network = network

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.network.logits(self.network.features(pixels))
        return logits, logits.softmax(1)


def _exported(subject: Subject, example: Tensor) -> ONNXProgram:
    """What torch makes of it, silently; a network of the user's own may be beyond it."""
    options: dict[str, Any] = {
        "dynamo": True,
        "dynamic_shapes": ({0: torch.export.Dim("images", min=1)},),
        "input_names": [INPUT],
        "output_names": list(OUTPUTS),
        "opset_version": OPSET,
        "verbose": False,
    }
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(_Graph(subject.network), (example,), **options)
    except Exception as error:  # whatever a network of the user's own may cause
        cause = error.__cause__ or error
        why = (str(cause).strip() or type(cause).__name__).splitlines()[0]
        raise SettingsError(f"torch cannot export this network to ONNX: {why}") from None
    assert program is not None
    return program
