"""What can go wrong, said in one line; each kind has its own exit code."""

from __future__ import annotations

LONGEST = 1000  # characters of a message; what is longer quotes what nobody reads


def one_line(text: str) -> str:
    """A text that may quote anything at all, such that it is one line and moves no cursor."""
    shown = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
    return shown if len(shown) <= LONGEST else f"{shown[:600]} [...] {shown[-300:]}"


class RemanenceError(Exception):
    """An error whose message is one line that tells the user what to do about it."""

    exit_code = 1

    def __str__(self) -> str:
        return one_line(super().__str__())


class SettingsError(RemanenceError):
    """Something chosen is unknown, of the wrong type, or does not fit the rest."""

    exit_code = 2


class DataError(RemanenceError):
    """Data are missing, truncated, or not what they claim to be."""

    exit_code = 3


class FolderError(RemanenceError):
    """A folder or file cannot be written, or belongs to another experiment."""

    exit_code = 4


class FolderBusy(FolderError):
    """Another process is running in a folder."""


class GateRefused(RemanenceError):
    """A version was learned, but forgets more than is allowed: the one before stays in use."""

    exit_code = 5


class Interrupted(RemanenceError):
    """The user or the system asked to stop; everything learned so far is saved."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number

    def __reduce__(self) -> tuple[type[Interrupted], tuple[str, int]]:
        return Interrupted, (str(self), self.signal_number)
