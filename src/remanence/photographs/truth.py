"""Photographs of all classes in one folder, and a list beside it that says which is what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from remanence.core.errors import DataError
from remanence.photographs.decode import cannot_read
from remanence.photographs.scan import Classes, File, photographs

DEVKIT = "ILSVRC2012_devkit_t12/data/"
NUMBERS, MEANINGS = "ILSVRC2012_validation_ground_truth.txt", "meta.mat"
LISTS = ("LOC_val_solution.csv", "val.txt", "val_labels.txt", NUMBERS, f"{DEVKIT}{NUMBERS}")
HEADING = "ImageId"


def flat_classes(root: Path, below: str, names: Sequence[str], chosen: Path | None) -> Classes:
    """The photographs of each class, by the chosen list or the first one that is found."""
    truth = chosen or _found(root, below)
    files = photographs(root, below)
    is_official = truth.name == NUMBERS
    said = _numbered(truth, files) if is_official else _lines(truth, set(names))
    shown = dict(said)
    classes: dict[str, list[File]] = {}
    for file in files:
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
        f"{root / below} has no class folders, and no {LISTS[0]} or {DEVKIT} is beside it: name a "
        "list of '<file> <wnid>' lines, or the ground truth of the devkit, with data.truth=FILE"
    )


def _numbered(truth: Path, files: Sequence[File]) -> Iterator[tuple[str, str]]:
    """Of the official list: a number for each file in the order of names, explained in meta.mat."""
    meanings = _meanings(truth.parent / MEANINGS)
    numbers = _text(truth).split()
    if len(numbers) != len(files):
        raise DataError(
            f"{truth} has {len(numbers)} numbers for {len(files)} photographs in val: it needs "
            "all of them, one a photograph"
        )
    for file, number in zip(files, numbers, strict=True):
        if number not in meanings:
            raise DataError(f"{truth} says '{number[:40]}', which {MEANINGS} does not explain")
        yield PurePosixPath(file.name).stem, meanings[number]


def _meanings(path: Path) -> dict[str, str]:
    """What the numbers of the devkit mean."""
    from scipy.io import loadmat

    try:
        synsets = loadmat(str(path), squeeze_me=True, appendmat=False)["synsets"]
        return {
            str(number): str(wnid)
            for number, wnid in zip(synsets["ILSVRC2012_ID"], synsets["WNID"], strict=True)
        }
    except FileNotFoundError:
        raise DataError(f"{path} is missing: it says what the numbers beside it mean") from None
    except Exception as error:  # whatever a reader of foreign files may raise
        raise DataError(f"cannot read {path}: {type(error).__name__}; get it again") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path} is no text: name a list of '<file> <wnid>' lines") from None
    except OSError as error:
        raise cannot_read(path, error) from None


def _lines(truth: Path, names: set[str]) -> Iterator[tuple[str, str]]:
    """File, without its ending, and class; the rest of a line is of no use here."""
    lines = _text(truth).splitlines()
    for number, line in enumerate(lines, 1):
        words = re.split(r"[,\s]+", line.strip())
        if words in ([""],) or words[0] == HEADING:
            continue
        if len(words) < 2 or words[1] not in names:
            raise DataError(
                f"line {number} of {truth} is no '<file> <wnid>' of a class that is known: "
                f"'{line.strip()[:40]}' (bare numbers are no wnids: see docs/data.md)"
            )
        yield PurePosixPath(words[0]).stem, words[1]
