"""The page of runs: a file of its own, in which every section is there or says why it is not."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

from commands import Here, check_one_line

from remanence.metrics import readings, summarise
from remanence.records import read_records
from remanence.run_folder import described, read_experiment

SECTIONS = (
    "Results",
    "Curves",
    "Accuracy matrix",
    "Old against new",
    "Classes",
    "Images that are kept",
    "Colliding effect: new images and their neighbours",
    "Momentum effect removal: what it takes from the logits",
    "Settings and surroundings",
)
VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """What a page shows and what it loads; tags that do not match are an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[str] = []
        self.loaded: list[str] = []
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loaded += [v for k, v in attrs if k in ("src", "href", "xlink:href", "action") and v]
        if tag in ("td", "h2", "h3"):
            (self.cells if tag == "td" else self.headings).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        for tag, texts in (("td", self.cells), ("h2", self.headings), ("h3", self.headings)):
            if tag in self.open[-2:] and texts:
                texts[-1] += data.strip()


def page_of(here: Here, out: Path, *words: str) -> tuple[str, Page]:
    outcome = here("report", *words, "--quiet", "--out", str(out))
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == f"{out}\n"
    text = out.read_text(encoding="utf-8")
    return text, Page(text)


def copied(run: Path, to: Path, changes: dict[str, object]) -> Path:
    """A run folder as another experiment would have left it."""
    folder = Path(shutil.copytree(run, to))
    kept = read_experiment(folder)
    kept["resolved"].update(changes)
    (folder / "experiment.json").write_text(described(kept))
    return folder


def renamed_classes(run: Path, to: Path, name: str) -> Path:
    """The same run of classes that have hostile names."""
    folder = Path(shutil.copytree(run, to))
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    for line in lines:
        if line["event"] == "started":
            line["classes"] = [f"{name} {number}" for number in range(10)]
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_a_page_is_whole_and_loads_nothing(undisturbed: Path, here: Here, tmp_path: Path) -> None:
    text, page = page_of(here, tmp_path / "page.html", str(undisturbed))
    assert [heading for heading in page.headings if heading in SECTIONS] == list(SECTIONS)
    assert all(one.startswith(("#", "data:image/")) for one in page.loaded)
    assert "://" not in text
    assert "default-src 'none'" in text
    assert page.tags.count("script") == 1


def test_a_page_says_what_the_records_say(undisturbed: Path, here: Here, tmp_path: Path) -> None:
    _, page = page_of(here, tmp_path / "page.html", str(undisturbed), "--no-images")
    records = read_records(undisturbed / "records.jsonl")
    for reading in readings(records):
        summary = summarise(records, reading)
        row = page.cells.index(reading)
        shown = page.cells[row + 1 : row + 3]
        assert shown == [f"{summary.average_accuracy:.1f}", f"{summary.last_accuracy:.1f}"]


def test_seeds_of_one_experiment_are_one_row(undisturbed: Path, here: Here, tmp_path: Path) -> None:
    other = copied(undisturbed, tmp_path / "other", {"seed": 7})
    third = copied(undisturbed, tmp_path / "third", {"memory": {"per_class": 3, "total": None}})
    runs = [str(undisturbed), str(other), str(third)]
    text, page = page_of(here, tmp_path / "page.html", *runs, "--no-images", "--readings", "cnn")
    assert "3 runs of 2 experiments" in text
    labels = [cell for cell in page.cells if cell.startswith("lucir + colliding + momentum, ")]
    assert {label.split(", ")[1] for label in labels} == {
        "memory.per_class=5",
        "memory.per_class=3",
    }
    summary = summarise(read_records(undisturbed / "records.jsonl"), "cnn")
    assert f"{summary.average_accuracy:.1f} ± 0.0 (2)" in page.cells


def test_hostile_names_stay_text(undisturbed: Path, here: Here, tmp_path: Path) -> None:
    name = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{7*7}}"
    run = renamed_classes(undisturbed, tmp_path / "hostile", name)
    text, page = page_of(here, tmp_path / "page.html", str(run), "--no-images")
    assert page.tags.count("script") == 1 and "img" not in page.tags
    assert f"{name} 0" in page.cells
    assert "{{7*7}}" in text and "49" not in [
        cell.split()[-1] for cell in page.cells if "alert" in cell
    ]


def test_it_is_put_into_the_run_folder(undisturbed: Path, here: Here, tmp_path: Path) -> None:
    run = copied(undisturbed, tmp_path / "run", {})
    assert here("report", str(run), "--no-images").out == f"{run}/report.html\n"
    first = (run / "report.html").read_bytes()
    assert here("report", str(run), "--no-images").code == 0
    assert (run / "report.html").read_bytes() == first


def test_a_run_reduced_to_its_records_has_a_page(
    undisturbed: Path, here: Here, tmp_path: Path
) -> None:
    run = tmp_path / "reduced"
    run.mkdir()
    for name in ("experiment.json", "records.jsonl"):
        shutil.copy(undisturbed / name, run / name)
    text, page = page_of(here, tmp_path / "page.html", str(run))
    assert "predictions of the last increment are not in the run folder" in text
    assert "class 0" in page.cells
    assert [heading for heading in page.headings if heading in SECTIONS] == list(SECTIONS)


def test_a_plain_page_needs_no_torch(undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    program = (
        "import sys; from remanence.cli.main import main; "
        f"code = main(['report', {str(undisturbed)!r}, '--no-images', '--out', {str(out)!r}]); "
        "sys.exit(code or 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"<svg[^>]*>", out.read_text())


def test_no_page_of_what_is_no_run(undisturbed: Path, here: Here, tmp_path: Path) -> None:
    assert "experiment.json" in check_one_line(here("report", str(tmp_path)), 4)
    assert ".html" in check_one_line(here("report", str(undisturbed), "--out", "page.pdf"), 2)
    wrong = here("report", str(undisturbed), "--no-images", "--readings", "cnnn", "--out", "a.html")
    assert "did you mean 'cnn'" in check_one_line(wrong, 2)
    unwritable = here(
        "report", str(undisturbed), "--no-images", "--out", str(tmp_path / "no" / "a.html")
    )
    assert "cannot write" in check_one_line(unwritable, 4)


def test_damaged_predictions_are_named(undisturbed: Path, here: Here, tmp_path: Path) -> None:
    run = copied(undisturbed, tmp_path / "run", {})
    last = sorted((run / "predictions").iterdir())[-1]
    last.write_bytes(last.read_bytes()[:-5])
    assert last.name in check_one_line(here("report", str(run), "--no-images"), 4)
