"""Reading pickled arrays of bytes without running anything that the pickle names.

A pickle is a program. Here the few names that an array needs stand for inert classes of ours, and
every other name is refused. Not even numpy is let near the content: a forged dtype can make it take
raw bytes for objects.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.core.errors import DataError

_LATIN1 = ("latin1", b"latin1")
_UINT8 = ("u1", b"u1", "|u1", b"|u1")


def load(content: bytes, source: str) -> Any:
    """The plain values that a pickle of Python 2 or 3 holds, arrays as `StoredArray`.

    Text that Python 2 wrote comes back as bytes. `source` is how an error names the file.
    """
    try:
        return _Reader(content, source).load()
    except DataError:
        raise
    except Exception as error:  # a damaged pickle stumbles over anything at all
        kind = type(error).__name__
        raise DataError(
            f"{source} is not a whole pickle ({kind}): delete it and fetch it again"
        ) from None


class StoredArray:
    """What a pickle says of an array, not yet believed."""

    __slots__ = ("_state",)

    def __init__(self, *made_with: Any) -> None:
        self._state: Any = None

    def __setstate__(self, state: Any) -> None:
        self._state = state

    def uint8(self) -> NDArray[np.uint8]:
        """The table of bytes that it claims to be, read-only; a ValueError if it is none."""
        match self._state:
            case (int(), (int(rows), int(columns)), _StoredType(is_uint8=True), by_column, raw):
                whole = isinstance(raw, bytes) and len(raw) == rows * columns
                if whole and min(rows, columns) >= 0:
                    order: Any = "F" if by_column else "C"
                    return np.frombuffer(raw, np.uint8).reshape(rows, columns, order=order)
        raise ValueError("not a table of bytes")


# Each class has __setstate__, because where there is none a pickle may set attributes at will.


class _StoredType:
    __slots__ = ("is_uint8",)

    def __init__(self, code: Any = None, *_: Any) -> None:
        self.is_uint8 = type(code) in (str, bytes) and code in _UINT8

    def __setstate__(self, state: Any) -> None:
        """Byte order and the like: there is none in a byte."""


class _Encoded:
    """How Python 3 writes bytes so that Python 2 can read them."""

    def __new__(cls, text: Any, encoding: Any) -> Any:
        if encoding not in _LATIN1:
            raise pickle.UnpicklingError("another encoding")
        return text.encode("latin1")

    def __setstate__(self, state: Any) -> None:
        """Nothing: the bytes that were made know no such call."""


_ADMITTED = {
    ("numpy.core.multiarray", "_reconstruct"): StoredArray,
    ("numpy._core.multiarray", "_reconstruct"): StoredArray,
    ("numpy", "ndarray"): StoredArray,
    ("numpy", "dtype"): _StoredType,
    ("_codecs", "encode"): _Encoded,
}


# The unpickler written in Python: the one in C reserves as much memory as a forged index asks for.
class _Reader(pickle._Unpickler):
    def __init__(self, content: bytes, source: str) -> None:
        super().__init__(io.BytesIO(content), encoding="bytes")
        self._source = source

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            asked = ascii(f"{module}.{name}"[:80])
            raise DataError(
                f"{self._source} asks for {asked}, which is no data: do not trust it; "
                "delete it and fetch it again from its official home"
            )
        return _ADMITTED[module, name]
