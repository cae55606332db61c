"""Answers of a model to photographs, one after another, and ways to write them."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from remanence.cli.outcome import plain_table
from remanence.cli.tables import console
from remanence.core.errors import DataError
from remanence.core.progress import Progress
from remanence.photographs.scan import photographs
from remanence.predictor import AT_ONCE, Photograph, Prediction, Predictor

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Answer:
    """What a photograph is said to show: names and probabilities, the best first."""

    file: str
    ranked: list[tuple[str, float]]


def answers(
    predictor: Predictor, words: Sequence[str], top: int, progress: Progress
) -> Iterator[Answer]:
    """One for each photograph that can be read; an error at the end tells of the others."""
    names = [name for word in words for name in _named(word)]
    errors: list[str] = []
    progress.doing("looking at the photographs")
    progress.planned(len(names))
    for start in range(0, len(names), AT_ONCE):
        some = names[start : start + AT_ONCE]
        for name, found in zip(some, _asked(predictor, some), strict=True):
            if isinstance(found, Prediction):
                yield Answer(name, found.ranked(top))
            else:
                errors.append(str(found))
            progress.stepped()
    if len(errors) > 1:
        for line in errors:
            print(f"remanence: {line}", file=sys.stderr)
        raise DataError(f"{len(errors)} of {len(names)} photographs cannot be read: see above")
    if errors:
        raise DataError(errors[0])


def _named(word: str) -> list[str]:
    """The photographs that a word stands for."""
    path = Path(word)
    if word == STANDARD_INPUT or not path.is_dir():
        return [word]
    found = [str(path / file.name) for file in photographs(path, "")]
    if not found:
        raise DataError(f"there is no photograph in {path}: name another folder")
    return found


def _asked(predictor: Predictor, names: Sequence[str]) -> Sequence[Prediction | DataError]:
    """An answer to each, or why there is none."""
    sources = [_source(name) for name in names]
    try:
        return predictor.predict(sources)
    except DataError:
        return [_asked_alone(predictor, source) for source in sources]


def _asked_alone(predictor: Predictor, source: Photograph) -> Prediction | DataError:
    try:
        return predictor.predict([source])[0]
    except DataError as error:
        return error


def _source(name: str) -> Photograph:
    return sys.stdin.buffer.read() if name == STANDARD_INPUT else name


def _as_table(found: Iterator[Answer]) -> None:
    table = plain_table("photograph", "shows", "probability")
    try:
        for answer in found:
            for place, (name, probability) in enumerate(answer.ranked):
                file = Text(answer.file) if place == 0 else ""
                table.add_row(file, Text(name), f"{100 * probability:.1f} %")
    finally:
        if table.row_count:
            console().print(table)


def _as_json(found: Iterator[Answer]) -> None:
    lines: list[str] = []
    try:
        for answer in found:
            ranked = [{"class": name, "probability": p} for name, p in answer.ranked]
            line = {"file": answer.file, "predictions": ranked}
            lines.append(json.dumps(line, ensure_ascii=False))
    finally:
        if lines:
            print("[" + ",\n ".join(lines) + "]")


def _as_csv(found: Iterator[Answer]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    is_first = True
    for answer in found:
        if is_first:
            writer.writerow(("file", "rank", "class", "probability"))
            is_first = False
        for rank, (name, probability) in enumerate(answer.ranked, 1):
            writer.writerow((answer.file, rank, name, f"{probability:.6f}"))


WRITERS: Mapping[str, Callable[[Iterator[Answer]], None]] = {
    "table": _as_table,
    "json": _as_json,
    "csv": _as_csv,
}
