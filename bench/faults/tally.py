"""What the faults came to, kind by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

OUTCOMES = ("survived", "refused", "lost")


@dataclass
class Tally:
    """Faults tried, and how each ended.

    survived: the end is that of the undisturbed run, bit by bit. refused: one line said what to do,
    and doing so led there. lost: anything else. moments: what was found to be cut.
    """

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    moments: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def count(self, kind: str, outcome: str, why: str = "", times: int = 1) -> None:
        """Faults of a kind ended in such a way."""
        assert outcome in OUTCOMES
        self.outcomes.setdefault(kind, Counter())[outcome] += times
        if outcome == "lost":
            self.wrong.append(f"{kind}: {why}")

    @contextmanager
    def watched(self, kind: str, about: str = "") -> Iterator[None]:
        """A check that fails inside is a loss of this kind."""
        try:
            yield
        except (AssertionError, TimeoutError) as error:
            self.count(kind, "lost", f"{about} {error}".strip())

    def tree(self) -> dict[str, Any]:
        """All of it, to be written down."""
        rows = {
            kind: {"tried": sum(found.values()), **{name: found[name] for name in OUTCOMES}}
            for kind, found in self.outcomes.items()
        }
        total = {key: sum(row[key] for row in rows.values()) for key in ("tried", *OUTCOMES)}
        moments = dict(sorted(self.moments.items()))
        return {"total": total, "faults": rows, "killed_while": moments, "wrong": self.wrong}
