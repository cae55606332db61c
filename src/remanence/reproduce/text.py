"""How figures are written, the same in the terminal and on every page."""

from __future__ import annotations

from remanence.reproduce.measured import Measured


def ours(measured: Measured) -> str:
    """Our figure, mean ± std (n)."""
    return "not run" if measured.spread is None else str(measured.spread)


def beside(measured: Measured) -> str:
    """The paper's figure and the difference, as far as there are any."""
    if measured.paper is None:
        return ""
    if measured.difference is None:
        return f"paper {measured.paper:.2f}"
    verdict = {"agrees": "=", "differs": "!"}.get(measured.verdict, "")
    return f"paper {measured.paper:.2f} ({measured.difference:+.1f}){verdict}"


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(40), duration(400), duration(40_000), duration(400_000)
    ('40 s', '7 min', '11 h', '4.6 days')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86400:.1f} days"
