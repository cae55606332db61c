"""Where an export goes: written beside, asked about images, and renamed if it answers right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from remanence.core import files
from remanence.core.errors import FolderError, RemanenceError
from remanence.exporting.formats import Format, format_of
from remanence.exporting.subject import Subject

TOLERANCE = 1e-4  # of a probability, and of the largest logit
AT_ONCE = 8


@dataclass(frozen=True)
class Check:
    """How a file compares with the network that it came from.

    real, made: images that both were asked about. probabilities, logits: the largest difference;
    that of logits as a share of the largest one.
    """

    real: int
    made: int
    probabilities: float
    logits: float

    @property
    def is_passed(self) -> bool:
        """Whether nothing but rounding makes the difference."""
        return self.probabilities <= TOLERANCE and self.logits <= TOLERANCE


@dataclass(frozen=True)
class Target:
    """A file that is to be."""

    path: Path
    format: Format

    @classmethod
    def of(cls, path: str | Path, pixels: str = "uint8", force: bool = False) -> Target:
        """The file of this name; what is there already is only replaced by force."""
        where = Path(path)
        chosen = format_of(where, pixels)
        chosen.check_installed()
        if where.exists() and not force:
            raise FolderError(f"{where} is there already: --force replaces it")
        if not where.parent.is_dir():
            raise FolderError(f"cannot write {where}: there is no folder {where.parent}")
        return cls(where, chosen)

    def write(self, subject: Subject) -> Check:
        """Write the file; one that does not say what the network says is not left behind."""
        with files.tried(self.path, self.format.content(subject)) as beside:
            check = compared(subject, self.format.reader(beside))
            if not check.is_passed:
                raise RemanenceError(
                    f"{self.path} is not written: its probabilities differ from those of the "
                    f"network by up to {check.probabilities:.1e}, its logits by {check.logits:.1e} "
                    f"of the largest; {TOLERANCE:.0e} is allowed"
                )
        return check


def compared(subject: Subject, answer: Callable[[Tensor], tuple[Tensor, Tensor]]) -> Check:
    """Ask a file and the network about the same images; the first of them alone."""
    made = subject.made()
    told, due = [], []
    for pixels in _batches(torch.cat([subject.real, made])):
        told.append(answer(pixels))
        with torch.inference_mode():
            due.append(subject.eager(pixels))
    logits, probabilities = (torch.cat(column) for column in zip(*told, strict=True))
    expected = torch.cat(due)
    return Check(
        real=len(subject.real),
        made=len(made),
        probabilities=_largest(probabilities - expected.softmax(1)),
        logits=_largest(logits - expected) / max(1.0, _largest(expected)),
    )


def _batches(pixels: Tensor) -> Iterator[Tensor]:
    yield pixels[:1]
    yield from pixels[1:].split(AT_ONCE)


def _largest(values: Tensor) -> float:
    return float(values.abs().max())
