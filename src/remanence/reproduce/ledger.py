"""The ledger: one file for each finished run, from which every table is computed.

What is kept of a run are counts: how many test images of each increment's classes every reading
named rightly after each increment. All metrics follow from them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from remanence.core import files
from remanence.core.errors import FolderError, SettingsError
from remanence.core.json_text import parsed
from remanence.experiment import Experiment
from remanence.metrics import Summary, summarise
from remanence.records import Record
from remanence.reproduce.shape import Shape, shape

FORMAT = 1


@dataclass(frozen=True)
class Entry:
    """One finished run.

    config: all that was chosen, with nothing left open. data: a hash of the images.
    order: name and hash of the class order. epochs: of the base and of the later increments.
    made_with: versions and commit. machine: device, processor, precision, threads.
    seconds: spent on the base (None if it was trained before and shared) and on later increments.
    groups: classes that each increment brought, and their test images.
    right: for each reading, a row for each increment, of the right answers in each group.
    finished: the day.
    """

    name: str
    config: Mapping[str, Any]
    data: str
    order: Mapping[str, str]
    seed: int
    epochs: Mapping[str, int]
    made_with: Mapping[str, str | None]
    machine: Mapping[str, Any]
    seconds: Mapping[str, float | None]
    groups: Mapping[str, list[int]]
    right: Mapping[str, list[list[int]]]
    finished: str
    format: int = FORMAT

    @cached_property
    def experiment(self) -> Experiment | None:
        """What was run, as today's program says it; None if it no longer can."""
        try:
            return Experiment.of(self.config)
        except SettingsError:
            return None

    @cached_property
    def shape(self) -> Shape | None:
        """What shaped the result."""
        return shape(self.experiment) if self.experiment else None

    def records(self) -> list[Record]:
        """The counts as records, in which those of a whole group stand at its first class."""
        classes = self.groups["classes"]
        return [
            Record(
                increment=number,
                group_sizes=tuple(classes[: number + 1]),
                tested=_spread(self.groups["tested"][: number + 1], classes),
                readings={
                    name: _spread(rows[number], classes) for name, rows in self.right.items()
                },
            )
            for number in range(len(classes))
        ]

    def summary(self, reading: str) -> Summary:
        """Every metric of one reading."""
        return summarise(self.records(), reading)


class Ledger:
    """The entries in a folder, in the order of their names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        found = sorted(folder.glob("*.json")) if folder.is_dir() else []
        self.entries = {entry.name: entry for entry in map(_read, found)}

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def add(self, entry: Entry) -> bool:
        """Keep an entry; False if the same run is here already, which then stays as it is."""
        if entry.name in self.entries:
            return False
        files.make_folder(self.folder)
        files.write(self.folder / f"{entry.name}.json", _text(entry))
        self.entries[entry.name] = entry
        return True

    def standing_for(self, wanted: Shape, reading: str) -> list[Entry]:
        """The entries that a reading of such a training can be taken from."""
        return [
            entry
            for entry in self.entries.values()
            if entry.shape and reading in entry.right and entry.shape.gives(wanted, reading)
        ]


def _spread(counts: Iterable[int], classes: list[int]) -> tuple[int, ...]:
    return tuple(
        number
        for count, size in zip(counts, classes, strict=False)
        for number in (count, *[0] * (size - 1))
    )


def _text(entry: Entry) -> str:
    """JSON with a line for each key, and for each reading."""
    tree = asdict(entry)
    readings = [f"    {json.dumps(name)}: {json.dumps(v)}" for name, v in tree["right"].items()]
    lines = [f"  {json.dumps(key)}: {json.dumps(v)}" for key, v in tree.items() if key != "right"]
    lines.append('  "right": {\n' + ",\n".join(readings) + "\n  }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _read(path: Path) -> Entry:
    try:
        tree = parsed(path.read_text(encoding="utf-8"))
        if tree["format"] > FORMAT:
            raise FolderError(f"{path} was written by a newer Remanence; update this one")
        return Entry(**tree)
    except OSError as error:
        raise FolderError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise FolderError(
            f"{path} is damaged ({error}); delete it and collect the run again"
        ) from None
