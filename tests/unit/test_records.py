import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.core.errors import FolderError
from remanence.records import Record, as_text, read_records

NAMES = st.text(max_size=12)


@st.composite
def _records(draw):
    sizes = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    tested = [draw(st.integers(0, 10**6)) for _ in range(sum(sizes))]
    right = st.tuples(*(st.integers(0, count) for count in tested))
    return Record(
        increment=draw(st.integers(0, 100)),
        group_sizes=sizes,
        tested=tuple(tested),
        readings=draw(st.dictionaries(NAMES, right, max_size=3)),
        learned=draw(st.dictionaries(NAMES, st.floats(allow_nan=False), max_size=3)),
        kept=draw(st.dictionaries(NAMES, st.integers() | NAMES, max_size=3)),
    )


RECORDS = _records()


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
        WHOLE.replace("[4, 3]", "[4]"),
        WHOLE.replace("[4, 3]", "[4, 6]"),
        WHOLE.replace("[2]", "[3]"),
    ],
    ids=[
        *("cut off", "empty line", "missing key", "wrong type", "unknown key", "not a record"),
        *("other classes", "right more often than tested", "other groups"),
    ],
)
def test_a_damaged_file_is_one_line_that_names_it(tmp_path, text):
    path = tmp_path / "records.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FolderError, match=r"records\.jsonl is damaged") as error:
        read_records(path)
    assert "\n" not in str(error.value)
