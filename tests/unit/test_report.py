import io
import re
from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib.image import imread
from rich.console import Console

from remanence.core.errors import FolderError, SettingsError
from remanence.metrics import Summary, summarise
from remanence.records import Record
from remanence.report.curve import terminal_curve
from remanence.report.figure import accuracy_figure
from remanence.report.panel import Curve, Panel
from remanence.report.table import summary_table

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
CLASSES = (50, 60, 70, 80, 90, 100)
LOW = Curve("lucir", CLASSES, ((76.3, 70.0, 64.0, 60.0, 56.0, 52.1),))
HIGH = Curve("lucir + momentum", CLASSES, ((76.0, 72.0, 69.0, 66.0, 64.0, 62.0),) * 2)


def run(base: int, kept: int, new: int) -> Summary:
    """A base class and a new one, of ten test images each."""
    return summarise(
        [
            Record(0, (1,), (10,), {"cnn": (base,)}),
            Record(1, (1, 1), (10, 10), {"cnn": (kept, new)}),
        ],
        "cnn",
    )


def shown(rows) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(summary_table(rows))
    return console.file.getvalue()


def cells(text, label) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(label)]
    return re.split(r"\s{2,}", line.removeprefix(label).strip())


# The table


def test_table_holds_average_last_and_forgetting_over_the_seeds():
    # Average 85 and 80, last 80 and 70, forgetting 20 and 40.
    text = shown([("lucir", [run(9, 7, 9), run(9, 5, 9)]), ("podnet", [run(8, 8, 6)])])
    forgetting = "30.0 ± 14.1 (2)"
    assert cells(text, "lucir") == ["82.5 ± 3.5 (2)", "75.0 ± 7.1 (2)", forgetting, forgetting]
    assert cells(text, "podnet") == ["75.0 (1)", "70.0 (1)", "0.0 (1)", "0.0 (1)"]


def test_table_leaves_open_what_was_not_measured():
    base_only = summarise([Record(0, (1,), (10,), {"cnn": (9,)})], "cnn")
    untested = summarise([Record(0, (1,), (0,), {"cnn": (0,)})], "cnn")
    text = shown([("young", [base_only]), ("untested", [untested])])
    assert cells(text, "young") == ["90.0 (1)", "90.0 (1)", "-", "-"]
    assert cells(text, "untested") == ["-", "-", "-", "-"]


def test_table_shows_a_label_as_it_is():
    assert "lucir [paper]" in shown([("lucir [paper]", [run(9, 7, 9)])])


# The curves


def test_curve_of_summaries_has_a_run_for_each_seed():
    curve = Curve.of("lucir", [run(9, 7, 9), run(9, 5, 9)])
    assert curve.classes == (1, 2)
    assert curve.runs == ((90, 80), (90, 70))
    assert curve.means() == [90, 75]
    assert curve.spreads()[1].std == pytest.approx(50**0.5)


def test_curve_refuses_runs_of_unequal_length():
    young = summarise([Record(0, (1,), (10,), {"cnn": (9,)})], "cnn")
    with pytest.raises(SettingsError, match=r"'lucir'.*finish the shorter ones"):
        Curve.of("lucir", [run(9, 7, 9), young])


@pytest.mark.parametrize(
    ("classes", "ticks"),
    [
        ((50,), [50]),
        (CLASSES, list(CLASSES)),
        (tuple(range(50, 101)), [50, 60, 70, 80, 90, 100]),
        (tuple(range(50, 101, 2)), [50, 60, 70, 80, 90, 100]),
        (tuple(range(10, 101, 10)), [10, 30, 50, 70, 100]),
    ],
)
def test_ticks_are_few_and_hold_both_ends(classes, ticks):
    assert Panel("", (Curve("", classes, ((0.0,) * len(classes),)),)).ticks() == ticks


# The curve for the terminal


@pytest.mark.parametrize("width", [40, 72, 120])
def test_terminal_curve_fits_the_width_and_names_what_it_shows(width):
    text = terminal_curve(Panel("CIFAR-100", (LOW, HIGH)), width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width < max(map(len, lines)) + 4
    assert lines[0].strip() == "CIFAR-100"
    assert lines[-2:] == ["  ● lucir", "  ■ lucir + momentum"]
    assert "76.3┤" in text
    assert "52.1┤" in text
    assert [line.split() for line in lines if "50 " in line][-1] == [str(n) for n in CLASSES]


def test_terminal_curve_marks_each_curve_where_it_ends():
    plot = terminal_curve(Panel("", (LOW, HIGH)), 80).splitlines()[:-2]
    (ends_low,) = [place for place, line in enumerate(plot) if line.endswith("●│")]
    (ends_high,) = [place for place, line in enumerate(plot) if line.endswith("■│")]
    assert ends_high < ends_low


def test_terminal_curve_is_plain_without_colour_and_the_same_with_it():
    panel = Panel("CIFAR-100", (LOW, HIGH))
    plain, coloured = terminal_curve(panel, 60), terminal_curve(panel, 60, colour=True)
    assert not ESCAPE.search(plain)
    assert ESCAPE.search(coloured)
    stripped = ESCAPE.sub("", coloured).splitlines()
    assert [line.rstrip() for line in stripped] == plain.splitlines()


def test_terminal_curve_forgets_the_one_before():
    alone = terminal_curve(Panel("second", (LOW,)), 60)
    terminal_curve(Panel("first", (HIGH,)), 90, colour=True)
    assert terminal_curve(Panel("second", (LOW,)), 60) == alone


# The picture


def svg(panels, tmp_path) -> ElementTree.Element:
    path = tmp_path / "picture.svg"
    accuracy_figure(panels, path)
    return ElementTree.fromstring(path.read_text(encoding="utf-8"))


def panel_of(root, number) -> str:
    (part,) = root.iterfind(f".//*[@id='axes_{number}']")
    return ElementTree.tostring(part, encoding="unicode")


def hues(part) -> set[str]:
    return set(re.findall(r"stroke: (#\w{6}); stroke-width: 1.4", part))


@pytest.mark.parametrize(
    ("suffix", "start", "end"),
    [
        (".png", b"\x89PNG", b"IEND\xaeB`\x82"),
        (".pdf", b"%PDF", b"%%EOF"),
        (".SVG", b"<?xml", b"</svg>"),
    ],
)
def test_picture_is_a_whole_file_and_the_same_every_time(tmp_path, suffix, start, end):
    panels = [Panel("5 increments", (LOW, HIGH)), Panel("again", (HIGH,))]
    path, again = tmp_path / f"one{suffix}", tmp_path / f"two{suffix}"
    accuracy_figure(panels, path)
    with matplotlib.rc_context({"axes.facecolor": "red", "lines.linewidth": 9}):
        accuracy_figure(panels, again)
        assert matplotlib.rcParams["lines.linewidth"] == 9
    content = path.read_bytes()
    assert content.startswith(start)
    assert content.rstrip().endswith(end)
    assert content == again.read_bytes()
    assert not re.search(rb"CreationDate|dc:date|tIME", content)
    assert sorted(tmp_path.iterdir()) == [path, again]


def test_picture_has_ink_on_white(tmp_path):
    accuracy_figure([Panel("5 increments", (LOW, HIGH))], tmp_path / "picture.png")
    pixels = imread(tmp_path / "picture.png")
    height, width, _ = pixels.shape
    assert width > 500 and height > 400
    assert (pixels[0, 0, :3] == 1).all()
    assert (pixels[..., :3].std(axis=2) > 0.1).sum() > 1000


def test_picture_gives_a_label_one_hue_in_all_panels(tmp_path):
    root = svg([Panel("both", (LOW, HIGH)), Panel("one", (HIGH,))], tmp_path)
    both, one = hues(panel_of(root, 1)), hues(panel_of(root, 2))
    assert len(both) == 2
    assert len(one) == 1
    assert one < both
    assert one == hues(panel_of(svg([Panel("", (LOW, HIGH)), Panel("", (HIGH,))], tmp_path), 2))
    assert one != hues(panel_of(svg([Panel("one", (HIGH,))], tmp_path), 1))


def test_picture_shades_the_deviation_only_where_there_are_seeds(tmp_path):
    root = svg([Panel("one seed", (LOW,)), Panel("two seeds", (HIGH,))], tmp_path)
    assert "PolyCollection" not in panel_of(root, 1)
    assert "PolyCollection" in panel_of(root, 2)


def test_picture_writes_titles_and_each_label_once(tmp_path):
    panels = [Panel(f"panel ${n}^$", (LOW, HIGH)) for n in range(4)]
    svg(panels, tmp_path)
    text = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert [text.count(f"<!-- panel ${n}^$ -->") for n in range(4)] == [1, 1, 1, 1]
    assert text.count("<!-- lucir -->") == text.count("<!-- lucir + momentum -->") == 1
    assert text.count("<!-- accuracy (%) -->") == 2


def test_an_unknown_suffix_is_one_line(tmp_path):
    with pytest.raises(SettingsError, match=r"cannot draw 'curve\.gif'.*\.svg, \.png or \.pdf"):
        accuracy_figure([Panel("", (LOW,))], tmp_path / "curve.gif")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    for folder in ("file", "missing"):
        with pytest.raises(FolderError, match="cannot write") as error:
            accuracy_figure([Panel("", (LOW,))], tmp_path / folder / "curve.png")
        assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
