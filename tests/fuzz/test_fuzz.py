"""A few dozen inputs of each kind; `bench/fuzz.py` tries ten thousand."""

from __future__ import annotations

import tempfile
from pathlib import Path

import of_files
import of_images
import of_settings
import of_words
import pytest
from properties import Property, fuzz

FEW = 40
WITH_EXAMPLES = of_files.properties(Path(tempfile.mkdtemp(prefix="fuzz-")))
ALL = [
    *of_settings.PROPERTIES,
    *WITH_EXAMPLES,
    *of_images.PROPERTIES,
    *of_words.PROPERTIES,
]


@pytest.mark.parametrize("one", ALL, ids=[one.name for one in ALL])
def test_any_input_is_taken_or_refused_in_one_line(one: Property, tmp_path: Path) -> None:
    found = fuzz(one, FEW, tmp_path)
    assert found.taken + found.refused >= FEW
