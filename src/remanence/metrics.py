"""What a run is worth, in percent, from the counts in its records. Needs no torch.

Written below: t numbers the increments, 0 is the base and T the last; group j is the classes that
came with increment j; a[t][j] is the accuracy after increment t on the test images of group j,
told apart from all classes known by then. An accuracy is always a share of images, never a mean
over groups: groups are of unequal size. Where there is no test image, it is nan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from remanence.core.errors import SettingsError
from remanence.core.settings import nearest
from remanence.records import Record

Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Summary:
    """One reading of one run; what needs an increment after the base is None if there is none.

    classes: how many are known after each increment.
    curve: the accuracy after each increment.
    old_accuracy, new_accuracy: after the last increment.
    forgetting, forgetting_strict: means over the increments after the base.
    """

    reading: str
    classes: tuple[int, ...]
    curve: tuple[float, ...]
    average_accuracy: float
    class_weighted_accuracy: float
    last_accuracy: float
    old_accuracy: float | None
    new_accuracy: float
    forgetting: float | None
    forgetting_strict: float | None
    base_drop: float | None


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation (division by n - 1) over seeds.

    >>> str(Spread.of([59.4, 59.8, 60.2]))
    '59.8 ± 0.4 (3)'
    """

    mean: float
    std: float | None
    n: int

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """The spread of one value or more; one value has no deviation."""
        n = len(values)
        mean = math.fsum(values) / n
        squares = math.fsum((value - mean) ** 2 for value in values)
        return Spread(mean, math.sqrt(squares / (n - 1)) if n > 1 else None, n)

    def __str__(self) -> str:
        deviation = "" if self.std is None else f" ± {self.std:.1f}"
        return f"{self.mean:z.1f}{deviation} ({self.n})"


def readings(records: Sequence[Record]) -> list[str]:
    """The readings that every record has, in the order of the first; only these have a curve."""
    first = records[0].readings if records else {}
    return [name for name in first if all(name in record.readings for record in records)]


def summarise(records: Sequence[Record], reading: str) -> Summary:
    """Every metric of one reading of a run."""
    if reading not in (known := readings(records)):
        raise SettingsError(
            f"no reading is called '{reading}' in every record{nearest(reading, known)}"
        )
    last = len(records) - 1
    classes = [sum(record.group_sizes) for record in records]
    curve = accuracy_curve(records, reading)
    matrix = accuracy_matrix(records, reading)
    return Summary(
        reading=reading,
        classes=tuple(classes),
        curve=tuple(curve),
        average_accuracy=average_accuracy(curve),
        class_weighted_accuracy=class_weighted_accuracy(curve, classes),
        last_accuracy=curve[-1],
        old_accuracy=old_accuracy(records[last], reading) if last else None,
        new_accuracy=new_accuracy(records[last], reading),
        forgetting=average_forgetting(matrix),
        forgetting_strict=average_forgetting_strict(matrix),
        base_drop=base_drop(matrix) if last else None,
    )


def accuracy_matrix(records: Sequence[Record], reading: str) -> list[list[float]]:
    """a[t][j] for j <= t: row t holds the groups known after increment t."""
    return [[_accuracy(record, reading, group) for group in _groups(record)] for record in records]


def accuracy_curve(records: Sequence[Record], reading: str) -> list[float]:
    """A_t: the accuracy after increment t on the test images of all classes known by then."""
    return [_accuracy(record, reading, slice(None)) for record in records]


def average_accuracy(curve: Sequence[float]) -> float:
    """Average incremental accuracy: the mean of A_t over t = 0..T, the base included."""
    return math.fsum(curve) / len(curve)


def class_weighted_accuracy(curve: Sequence[float], classes: Sequence[int]) -> float:
    """The mean of A_t in which each counts as often as there are classes known after t."""
    weighted = (known * accuracy for known, accuracy in zip(classes, curve, strict=True))
    return math.fsum(weighted) / sum(classes)


def old_accuracy(record: Record, reading: str) -> float:
    """The accuracy on the test images of all classes that were known before the increment."""
    return _accuracy(record, reading, slice(sum(record.group_sizes[:-1])))


def new_accuracy(record: Record, reading: str) -> float:
    """The accuracy on the test images of the classes that came with the increment."""
    return _accuracy(record, reading, _groups(record)[-1])


def forgetting(matrix: Matrix, t: int) -> float:
    """The mean over the groups j < t of max(a[l][j] for j <= l <= t) - a[t][j]; never negative.

    Every group counts the same, however many classes it has. Published code takes this form,
    with the present increment among those of the maximum.
    """
    drops = [max(matrix[i][j] for i in range(j, t + 1)) - matrix[t][j] for j in range(t)]
    return math.fsum(drops) / t


def forgetting_strict(matrix: Matrix, t: int) -> float:
    """The mean over the groups j < t of max(a[l][j] for j <= l < t) - a[t][j].

    Papers print this form, without the present increment; what got better makes it negative.
    """
    drops = [max(matrix[i][j] for i in range(j, t)) - matrix[t][j] for j in range(t)]
    return math.fsum(drops) / t


def average_forgetting(matrix: Matrix) -> float | None:
    """Average incremental forgetting: the mean of `forgetting` over t = 1..T; None if T = 0."""
    values = [forgetting(matrix, t) for t in range(1, len(matrix))]
    return math.fsum(values) / len(values) if values else None


def average_forgetting_strict(matrix: Matrix) -> float | None:
    """The mean of `forgetting_strict` over t = 1..T; None if T = 0."""
    values = [forgetting_strict(matrix, t) for t in range(1, len(matrix))]
    return math.fsum(values) / len(values) if values else None


def base_drop(matrix: Matrix) -> float:
    """a[0][0] - a[T][0]: what the base group lost from its own session to the last.

    Mnemonics Training calls this the forgetting rate; it is another thing than `forgetting`.
    """
    return matrix[0][0] - matrix[-1][0]


def relative_improvement(
    before: float, after: float, lower_is_better: bool = False
) -> float | None:
    """By how many percent of `before` the value `after` is better; None where `before` is 0."""
    gain = before - after if lower_is_better else after - before
    return 100 * gain / before if before else None


def _groups(record: Record) -> list[slice]:
    ends = list(accumulate(record.group_sizes))
    return [slice(end - size, end) for size, end in zip(record.group_sizes, ends, strict=True)]


def _accuracy(record: Record, reading: str, classes: slice) -> float:
    tested = sum(record.tested[classes])
    return 100 * sum(record.readings[reading][classes]) / tested if tested else math.nan
