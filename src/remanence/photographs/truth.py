"""Photographs of all classes in one folder, and a list beside it that says which is what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from remanence.core.errors import DataError
from remanence.photographs.decode import cannot_read
from remanence.photographs.scan import Classes, File, photographs

LISTS = ("LOC_val_solution.csv", "val.txt", "val_labels.txt")
HEADING = "ImageId"


def flat_classes(root: Path, below: str, names: Sequence[str], chosen: Path | None) -> Classes:
    """The photographs of each class, by the chosen list or the first one that is found."""
    truth = chosen or _found(root, below)
    shown = dict(_lines(truth, set(names)))
    classes: dict[str, list[File]] = {}
    for file in photographs(root, below):
        stem = PurePosixPath(file.name).stem
        if stem not in shown:
            raise DataError(f"{truth} does not say what {root / file.name} shows: complete it")
        classes.setdefault(shown[stem], []).append(file)
    return classes


def _found(root: Path, below: str) -> Path:
    for name in LISTS:
        if (root / name).is_file():
            return root / name
    raise DataError(
        f"{root / below} has no class folders, and {LISTS[0]} is not beside it: name a list of "
        "'<file> <wnid>' lines with data.truth=FILE (the official ground truth of bare numbers "
        "does not do, for what they mean is in the devkit only)"
    )


def _lines(truth: Path, names: set[str]) -> Iterator[tuple[str, str]]:
    """File, without its ending, and class; the rest of a line is of no use here."""
    try:
        lines = truth.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError):
            raise cannot_read(truth, error) from None
        raise DataError(f"{truth} is no text: name a list of '<file> <wnid>' lines") from None
    for number, line in enumerate(lines, 1):
        words = re.split(r"[,\s]+", line.strip())
        if words in ([""],) or words[0] == HEADING:
            continue
        if len(words) < 2 or words[1] not in names:
            raise DataError(
                f"line {number} of {truth} is no '<file> <wnid>' with a class folder in train: "
                f"'{line.strip()[:40]}' (bare numbers are no wnids: see docs/data.md)"
            )
        yield PurePosixPath(words[0]).stem, words[1]
