"""The kernels of `norm.c`, compiled for the processor at hand when they are first wanted.

What was compiled is kept in the cache folder under a hash of all that decides it. Where there is no
C compiler there are no kernels, and torch does the same in more passes over the memory.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from remanence.core import files
from remanence.core.errors import FolderError
from remanence.core.origin import processor_features

SOURCE = Path(__file__).with_name("norm.c")
FLAGS = ("-O3", "-march=native", "-std=gnu11", "-fopenmp", "-shared", "-fPIC")
PATIENCE = 60  # seconds for the compiler, which takes about one


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled kernels; None where they cannot be had."""
    try:
        file = files.cache_folder() / f"norm-{_digest()}.so"
        if not file.exists():
            files.make_folder(file.parent)
            files.write(file, _compiled())
        return ctypes.CDLL(str(file))
    except (OSError, subprocess.SubprocessError, FolderError):
        return None


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


def _compiled() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "norm.so")
        command = [*_compiler(), *FLAGS, str(SOURCE), "-o", str(made), "-lm"]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
        return made.read_bytes()


def _digest() -> str:
    """Of the source, the compiler, what it is told, and the processor that it compiles for."""
    command = [*_compiler(), "--version"]
    version = subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE).stdout
    about = [SOURCE.read_bytes(), version, " ".join(FLAGS).encode(), processor_features().encode()]
    return hashlib.blake2b(b"\0".join(about), digest_size=10).hexdigest()
