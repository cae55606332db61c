import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.core.errors import FolderError
from remanence.records import Record, as_text, read_records

COUNTS = st.lists(st.integers(0, 10**6), max_size=5).map(tuple)
NAMES = st.text(max_size=12)
RECORDS = st.builds(
    Record,
    increment=st.integers(0, 100),
    group_sizes=COUNTS,
    tested=COUNTS,
    readings=st.dictionaries(NAMES, COUNTS, max_size=3),
    learned=st.dictionaries(NAMES, st.floats(allow_nan=False), max_size=3),
    kept=st.dictionaries(NAMES, st.integers() | NAMES, max_size=3),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(RECORDS, max_size=4))
def test_what_is_written_is_read_again(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("run") / "records.jsonl"
    path.write_text(as_text(records), encoding="utf-8")
    assert read_records(path) == records


@settings(max_examples=60, deadline=None)
@given(RECORDS)
def test_a_record_is_one_line_of_json(record):
    line = record.line()
    assert len(line.splitlines()) == 1
    assert json.loads(line)["increment"] == record.increment


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(FolderError, match=r"cannot read .*records\.jsonl.*run folder") as error:
        read_records(tmp_path / "records.jsonl")
    assert "\n" not in str(error.value)


WHOLE = Record(0, (2,), (5, 5), {"cnn": (4, 3)}).line()


@pytest.mark.parametrize(
    "text",
    [
        WHOLE[:-7],
        WHOLE + "\n\n" + WHOLE,
        WHOLE.replace('"tested"', '"testes"'),
        WHOLE.replace("[5, 5]", "5"),
        WHOLE.replace("}, ", '}, "surprise": 1, ', 1),
        "[1, 2]",
    ],
    ids=["cut off", "empty line", "missing key", "wrong type", "unknown key", "not a record"],
)
def test_a_damaged_file_is_one_line_that_names_it(tmp_path, text):
    path = tmp_path / "records.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FolderError, match=r"records\.jsonl is damaged") as error:
        read_records(path)
    assert "\n" not in str(error.value)
