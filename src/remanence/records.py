"""What a run says about itself: one record for each increment. Needs no torch.

A record holds counts, not rates: every metric can be computed from it, and none is rounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from remanence.core.errors import FolderError
from remanence.core.json_text import parsed


@dataclass(frozen=True)
class Record:
    """One increment: the classes known after it, and what each reading gets right.

    group_sizes: how many classes each increment up to this one brought.
    tested: test images of each class known so far.
    readings: for each way to read the network, how many of those are named rightly.
    learned: numbers that the lenses settled on, say 'cnn+momentum.alpha'.
    kept: how many exemplars there are, their bytes, and a hash of their pixels and labels.
    skipped: batches of this increment that were left out because their loss was not a number.
    """

    increment: int
    group_sizes: tuple[int, ...]
    tested: tuple[int, ...]
    readings: dict[str, tuple[int, ...]]
    learned: dict[str, float] = field(default_factory=dict)
    kept: dict[str, int | str] = field(default_factory=dict)
    skipped: int = 0

    def line(self) -> str:
        """The record as one line of JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_line(line: str) -> Record:
        """The record that a line of JSON holds; a ValueError if it holds none."""
        tree = parsed(line)
        try:
            record = _kind().validate_python(tree)
        except ValidationError as error:
            wrong = error.errors()[0]
            where = ".".join(map(str, wrong["loc"]))
            raise ValueError(f"no record: {where} {wrong['msg']}") from None
        unknown = tree.keys() - asdict(record).keys()
        if unknown:
            raise ValueError(f"no record: {min(unknown)} is unknown")
        record.check()
        return record

    def check(self) -> None:
        """Raise a ValueError unless the counts are of the same classes, and possible."""
        if min(self.group_sizes, default=1) < 1 or sum(self.group_sizes) != len(self.tested):
            raise ValueError("no record: group_sizes and tested are of other classes")
        for name, right in self.readings.items():
            if len(right) != len(self.tested):
                raise ValueError(f"no record: {name} is of other classes than tested")
            if not all(0 <= one <= all_ for one, all_ in zip(right, self.tested, strict=True)):
                raise ValueError(f"no record: {name} is right more often than tested")


@cache
def _kind() -> TypeAdapter[Record]:
    return TypeAdapter(Record)


def read_records(path: Path) -> list[Record]:
    """All records of a file, in order."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [Record.from_line(line) for line in lines]
    except OSError as error:
        raise FolderError(f"cannot read {path}: {error.strerror}; is this a run folder?") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FolderError(f"{path} is damaged ({error}); run the experiment again") from None


def as_text(records: Iterable[Record]) -> str:
    """The content of a records file."""
    return "".join(record.line() + "\n" for record in records)
