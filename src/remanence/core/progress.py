"""What long work tells whoever watches; by itself it is silent."""

from __future__ import annotations


class Progress:
    """Watches a run or a download. Each moment does nothing unless a subclass shows it."""

    def planned(self, steps: int) -> None:
        """The work takes so many steps in all: of gradient descent, or MiB of a download."""

    def doing(self, what: str) -> None:
        """From now on the run is busy with this."""

    def stepped(self, steps: int = 1) -> None:
        """So many more of the planned steps are done (or need not be done again)."""

    def learned(self, increment: int) -> None:
        """An increment is over and written down."""

    def said(self, line: str) -> None:
        """Something worth a line of its own."""
