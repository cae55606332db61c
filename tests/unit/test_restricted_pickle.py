"""Pickles of arrays are read, and no pickle gets anything done."""

import contextlib
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from remanence.core.errors import DataError
from remanence.core.restricted_pickle import StoredArray, load

TABLE = np.arange(6, dtype=np.uint8).reshape(2, 3)
NUMPY_1 = b"numpy.core.multiarray"
NUMPY_2 = b"numpy._core.multiarray"

# What Python 2 writes of TABLE with protocol 2.
PYTHON_2 = (
    b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x00cnumpy\nndarray\nq\x01K\x00\x85q\x02"
    b"U\x01b\x87q\x03Rq\x04(K\x01K\x02K\x03\x86q\x05cnumpy\ndtype\nq\x06U\x02u1K\x00K\x01\x87q\x07"
    b"Rq\x08(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\tb"
    b"\x89U\x06\x00\x01\x02\x03\x04\x05tq\nb."
)


class Calls:
    """Pickles as a call of `function`."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


def refusal(content: bytes) -> str:
    with pytest.raises(DataError) as caught:
        load(content, "the file")
    message = str(caught.value)
    assert message.startswith("the file") and "\n" not in message and message.isprintable()
    return message


def test_python_2_array() -> None:
    assert pickle.loads(PYTHON_2, encoding="bytes").tolist() == TABLE.tolist(), "a true example"
    assert load(PYTHON_2, "it").uint8().tolist() == TABLE.tolist()


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("module", [NUMPY_1, NUMPY_2])
@pytest.mark.parametrize("order", ["C", "F"])
def test_python_3_array(protocol: int, module: bytes, order: str) -> None:
    written = pickle.dumps({b"data": np.array(TABLE, order=order), "n": [1]}, protocol)
    here = NUMPY_2 if NUMPY_2 in written else NUMPY_1
    if protocol == 4:  # names are written with their length, and frames with theirs
        start = written.index(b"\x95")
        written = written[:start] + written[start + 9 :]
        here, module = (bytes([len(name)]) + name for name in (here, module))
    tree = load(written.replace(here, module), "it")
    assert tree[b"data"].uint8().tolist() == TABLE.tolist() and tree["n"] == [1]


@pytest.mark.parametrize("protocol", range(5))
def test_a_call_is_refused_by_name_and_not_made(protocol: int, tmp_path: Path) -> None:
    target = tmp_path / "made"
    message = refusal(pickle.dumps(Calls(os.mkdir, str(target)), protocol))
    assert f"{os.mkdir.__module__}.mkdir" in message and not target.exists()


@pytest.mark.parametrize(
    "name",
    [
        "builtins eval",
        "builtins getattr",
        "builtins bytearray",
        "numpy.core.multiarray scalar",
        "numpy._core.numeric _frombuffer",
        "numpy load",
        "_codecs decode",
        "_codecs lookup",
        "codecs encode",
        "remanence.core.restricted_pickle _Reader",
        "\x1b[31m red",
    ],
)
def test_any_other_name_is_refused(name: str) -> None:
    module, _, attribute = name.partition(" ")
    message = refusal(f"c{module}\n{attribute}\n.".encode())
    assert ascii(f"{module}.{attribute}") in message


def test_dotted_names_reach_nothing() -> None:
    write = b"\x80\x04\x8c\x05numpy\x8c\x10ndarray.__init__\x93."
    assert "numpy.ndarray.__init__" in refusal(write)


@pytest.mark.parametrize(
    "array",
    [
        TABLE.astype(np.int8),
        TABLE.astype(np.float32),
        TABLE.astype(object),
        TABLE.astype("S1"),
        TABLE.reshape(-1),
        TABLE.reshape(1, 2, 3),
        np.zeros((2, 3), [("field", "u1")]),
    ],
    ids=lambda array: f"{array.dtype}-{array.ndim}d",
)
def test_only_tables_of_bytes(array: np.ndarray) -> None:
    stored = load(pickle.dumps(array, 2), "it")
    with pytest.raises(ValueError, match="not a table of bytes"):
        stored.uint8()


@pytest.mark.parametrize(
    "shape", [b"K\x02K\x04", b"K\x01K\x03", b"J\xfe\xff\xff\xffJ\xfd\xff\xff\xff"]
)
def test_a_shape_must_fit_its_bytes(shape: bytes) -> None:
    forged = load(PYTHON_2.replace(b"K\x02K\x03\x86", shape + b"\x86"), "it")
    with pytest.raises(ValueError, match="not a table of bytes"):
        forged.uint8()


def test_a_dtype_forged_to_take_bytes_for_objects_builds_nothing() -> None:
    honest = b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t"
    pointer = b"(K\x03U\x01|N(U\x01at}U\x01acnumpy\ndtype\nU\x01O\x85RK\x00\x86sK\x08K\x01K\x00t"
    assert honest in PYTHON_2
    forged = PYTHON_2.replace(honest, pointer).replace(b"U\x02u1", b"U\x02V8")
    with pytest.raises(ValueError, match="not a table of bytes"):
        load(forged, "it").uint8()


@pytest.mark.parametrize(
    "name", [b"numpy\nndarray\n", b"numpy\ndtype\n", b"_codecs\nencode\n"], ids=repr
)
def test_a_pickle_cannot_change_what_reads_it(name: bytes) -> None:
    entry = b"}X\x08\0\0\0__init__K\x01s"
    refusal(b"\x80\x02c" + name + b"N" + entry + b"\x86b.")
    refusal(b"\x80\x02c" + name + entry + b"b.")
    assert load(PYTHON_2, "it").uint8().tolist() == TABLE.tolist()


def test_encode_knows_one_encoding() -> None:
    assert load(b"c_codecs\nencode\n(X\x02\0\0\0\xc3\xbfX\x06\0\0\0latin1tR.", "it") == b"\xff"
    refusal(b"c_codecs\nencode\n(X\x02\0\0\0\xc3\xbfX\x04\0\0\0utf8tR.")


@pytest.mark.parametrize("index", [2**31, 2**32 - 1])
def test_a_forged_index_takes_no_memory(index: int) -> None:
    assert load(b"Nr" + struct.pack("<I", index) + b".", "it") is None


@given(st.binary(max_size=60))
@examples(deadline=None, max_examples=200)
def test_random_bytes_are_an_error_or_a_value(content: bytes) -> None:
    with contextlib.suppress(DataError):
        load(content, "it")


@given(st.integers(0, len(PYTHON_2) - 1), st.binary(min_size=1, max_size=8))
@examples(deadline=None, max_examples=200)
def test_a_changed_pickle_is_an_error_or_a_table(place: int, change: bytes) -> None:
    with contextlib.suppress(DataError, ValueError):
        stored = load(PYTHON_2[:place] + change + PYTHON_2[place + len(change) :], "it")
        if isinstance(stored, StoredArray):
            assert stored.uint8().size == stored.uint8().nbytes


@given(st.integers(0, len(PYTHON_2) - 1))
def test_a_cut_pickle_is_refused(length: int) -> None:
    refusal(PYTHON_2[:length])
