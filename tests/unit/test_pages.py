"""What is written from the ledger: pictures, places in documents, commands, one HTML page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from made_ledger import entry

from remanence.core.errors import FolderError, SettingsError
from remanence.experiment import Experiment
from remanence.recipe import compose, recipe_names
from remanence.reproduce.command import command
from remanence.reproduce.ledger import Ledger
from remanence.reproduce.lines import lines
from remanence.reproduce.pages import places
from remanence.reproduce.pages.book import speaker, write_pages
from remanence.reproduce.paper import tables
from remanence.reproduce.pictures import draw

ROOT = Path(__file__).parents[2]
T5 = {"data": "cifar100", "stream": {"base": 50, "increment": 10}, "memory": {"per_class": 20}}
SHORT = {"training": {"epochs": 8, "base_epochs": 16}}
MARK = "8 of 160 epochs (base 16)"


def falling(top: float) -> list[list[float]]:
    """Each increment's classes start at `top` and lose 4 points with every later one."""
    return [[top - 4 * (t - j) for j in range(t + 1)] for t in range(6)]


def added(folder: Path, *runs) -> Ledger:
    ledger = Ledger(folder)
    for one in runs:
        ledger.add(one)
    return ledger


@pytest.fixture(scope="module")
def ledger(tmp_path_factory) -> Ledger:
    """LUCIR with two seeds and iCaRL, shortened; finetuning as published."""
    lucir = [
        entry(
            Experiment.of(T5, SHORT, {"method": "lucir", "effects": "momentum", "seed": seed}),
            {
                "cnn": falling(70 + seed),
                "cnn+momentum": falling(74),
                "cnn+momentum.now": falling(9),
            },
        )
        for seed in (1, 3)
    ]
    icarl = entry(Experiment.of(T5, SHORT, {"method": "icarl"}), {"nme": falling(71)})
    finetune = entry(Experiment.of(T5, {"method": "finetune"}), {"cnn": falling(40)})
    return added(tmp_path_factory.mktemp("ledger"), *lucir, icarl, finetune)


# Lines and commands


def test_lines_are_experiments_read_in_one_way_the_most_accurate_first(ledger):
    found = [(one.learned, one.reading, one.schedule, one.accuracy.n) for one in lines(ledger)]
    assert found == [
        ("finetune", "cnn", "", 1),
        ("lucir", "cnn+momentum", MARK, 2),
        ("lucir", "cnn", MARK, 2),
        ("icarl", "nme", MARK, 1),
    ]
    lucir = lines(ledger)[2]
    assert lucir.steps[0] == pytest.approx(72)
    assert lucir.forgetting is not None and lucir.forgetting.mean == pytest.approx(8)
    assert lucir.printed == ("63.57", "63.17 (copied)")
    assert lucir.protocol == (
        "cifar100, order icarl1993: 50 classes, then 5 x 10; 20 images kept of each"
    )


def test_a_reimplementation_is_called_so_in_its_line(tmp_path):
    (line,) = lines(added(tmp_path, entry(Experiment.of(T5, {"method": "tpcil"}))))
    assert line.learned == "tpcil [re-implementation from a description]"


@pytest.mark.parametrize("name", recipe_names())
def test_the_command_of_a_recipe_is_its_name(name):
    assert command(compose(name)[1]) == f"remanence run {name}"


@pytest.mark.parametrize(
    "trees",
    [
        [T5, SHORT, {"method": "lucir", "effects": "halved_new,momentum"}],
        [T5, {"method": {"name": "podnet", "classification_weight": 0.25}, "seed": 4}],
        [T5, {"method": "finetune", "backbone": {"name": "resnet32", "filter_scales": True}}],
        [T5, {"method": "lucir", "effects": {"colliding": {"source": "fresh", "neighbours": 3}}}],
        [{"stream": {"sizes": [3, 2, 2]}, "memory": {"total": 12}, "method": "bic"}],
        [{"data": "imagenet", "method": "icarl", "stream": {"order": "random:3"}}],
    ],
)
def test_a_command_makes_the_experiment_again(trees):
    import shlex

    wanted = Experiment.of(*trees)
    remanence, run, recipe, *settings = shlex.split(command(wanted))
    assert (remanence, run) == ("remanence", "run")
    assert compose(recipe, settings)[1].resolved() == wanted.resolved()


# Places in documents


def test_only_places_are_written_and_all_else_stays(tmp_path):
    page = tmp_path / "docs" / "a.md"
    page.parent.mkdir()
    page.write_text("# A\n\n<!-- ledger: x -->\nold\n<!-- end of ledger -->\n\nmine\n")
    (tmp_path / "docs" / "b.md").write_text("a place begins with `<!-- ledger: x -->`\n")
    assert places.documents(tmp_path / "docs") == [page]
    assert places.fill(page, str.upper)
    text = "# A\n\n<!-- ledger: x -->\n\nX\n\n<!-- end of ledger -->\n\nmine\n"
    assert page.read_text() == text
    assert not places.fill(page, str.upper)


def test_a_place_without_an_end_is_one_line(tmp_path):
    first = "<!-- ledger: x -->\nold\n"
    (tmp_path / "a.md").write_text(f"{first}\n{first}<!-- end of ledger -->\n")
    with pytest.raises(FolderError, match=r"a\.md: a place for the ledger has no '<!-- end"):
        places.fill(tmp_path / "a.md", str.upper)


def test_an_unknown_place_names_the_nearest(ledger):
    with pytest.raises(SettingsError, match=r"'method lucie'.*method lucir"):
        speaker(ledger)("method lucie")


def test_a_page_of_a_method_has_its_lines_alone(ledger):
    said = speaker(ledger)("method lucir")
    assert said.count("| lucir |") == 2 and "icarl |" not in said
    assert said.count(MARK) == 2
    assert "| 67.0 ± 1.4 (2) |" in said
    assert "remanence run cifar100-t5-r5-lucir memory.per_class=20 " in said
    assert speaker(ledger)("method bic") == "No run of it is in the ledger yet."


def test_shortened_runs_and_others_are_apart(ledger):
    say = speaker(ledger)
    assert "finetune" not in say("shortened") and "lucir" not in say("published")
    assert "as published" in say("published")


def test_tables_show_what_is_measured_and_name_what_is_not(ledger):
    said = speaker(ledger)("tables")
    assert said.count("Not run: `remanence reproduce") >= 3
    sota = said[: said.index("### No image is kept")]
    assert "| LUCIR, R = 20 | 67.0 ± 1.4 (2)<br>paper 63.57 (+3.4)<br>8 of 160" in sota
    assert re.search(r"Not run: .*ImageNet-Full, T = 10; 40 of \d+ rows\.", sota)
    replay = said[said.index("### How many images are kept") :]
    assert "Not run: R = 0; R = 5; R = 10; LUCIR+DDE; control: cross-entropy × 1/2, +MER" in replay


@pytest.fixture(scope="module")
def folder(ledger, tmp_path_factory) -> Path:
    found: Path = tmp_path_factory.mktemp("site")
    assert found / "results.md" in write_pages(ledger, found)
    return found


def test_pages_are_written_whole_and_the_same_again(ledger, folder):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert folder / "figures" / "replay.svg" in before
    write_pages(ledger, folder)
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    links = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (folder / "results.md").read_text())
    assert links and all((folder / link).exists() for link in links)


def test_the_html_page_shows_every_cell_and_needs_no_network(folder):
    page = (folder / "results.html").read_text()
    assert page.count("not run") > 500
    assert page.count(MARK) >= 6
    assert "67.0 ± 1.4 (2)" in page and "data:image/svg+xml;base64," in page
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)


# Pictures


def drawn(name: str, ledger: Ledger, folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in draw(tables()[name], ledger, folder)}


def test_no_picture_without_a_measured_cell(tmp_path):
    for one in tables().values():
        assert draw(one, Ledger(tmp_path / "ledger"), tmp_path / "figures") == []
    assert not (tmp_path / "figures").exists()


def test_curves_of_accuracy_and_forgetting_say_that_they_are_shortened(ledger, tmp_path):
    found = drawn("curves", ledger, tmp_path)
    assert list(found) == ["curves-accuracy", "curves-forgetting"]
    for text in found.values():
        assert f"<!-- T = 5, R = 20: {MARK} -->" in text
        assert text.count("<!-- LUCIR -->") == 1
    assert "<!-- forgetting (points) -->" in found["curves-forgetting"]


def test_accuracy_against_images_is_beside_what_is_printed(ledger, tmp_path):
    (text,) = drawn("replay", ledger, tmp_path).values()
    assert "<!-- How many images are kept: 8 of 160" in text
    assert "<!-- How many images are kept: the paper's -->" in text
    assert "<!-- images kept of each class -->" in text


def test_where_runs_are_not_alike_each_line_says_what_it_is(tmp_path):
    lucir = {"method": "lucir", "effects": "momentum"}
    dde = {"method": "lucir", "effects": "colliding,momentum"}
    runs = [
        entry(Experiment.of(T5, SHORT, lucir), {"cnn": falling(70)}),
        entry(Experiment.of(T5, dde), {"cnn+momentum": falling(75)}),
    ]
    found = drawn("curves", added(tmp_path / "ledger", *runs), tmp_path)["curves-accuracy"]
    assert "<!-- T = 5, R = 20 -->" in found
    assert f"<!-- LUCIR: {MARK} -->" in found and "<!-- LUCIR+DDE -->" in found


def test_ages_show_frequencies_beside_losses(ledger, tmp_path):
    (text,) = drawn("ages", ledger, tmp_path).values()
    assert text.count("<!-- 20 -->") >= 5 and "<!-- 500 -->" in text
    assert "<!-- accuracy lost (points) -->" in text
    assert f"<!-- R = 20: {MARK} -->" in text
