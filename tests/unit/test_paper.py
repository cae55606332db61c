"""The paper's tables as data: they agree with themselves, and every cell can be run."""

from __future__ import annotations

import itertools

import pytest

from remanence.core.errors import SettingsError
from remanence.engine.readings import chains
from remanence.methods.base import Method
from remanence.metrics import relative_improvement
from remanence.reproduce.cost import CLASSES
from remanence.reproduce.paper import Table, table, tables
from remanence.stream import group_sizes

TINY = """
tolerance = 5
[parts]
lucir = { method = "lucir", effects = { momentum = {} } }
[tables.tiny]
title = "Digits"
about = "Accuracy."
columns = [{ name = "r0", label = "R = 0", set = { memory = { per_class = 0 } } }]
rows = [{ name = "lucir", label = "LUCIR", part = "lucir", paper = [60] }]
"""
each_table = pytest.mark.parametrize("one", tables().values(), ids=lambda one: one.name)


def test_every_table_and_figure_of_the_paper_is_there():
    wanted = "sota no-replay components weights steps initial-size curves replay ages"
    assert list(tables())[:9] == wanted.split()


@each_table
def test_every_cell_is_an_experiment_with_the_reading_that_is_shown(one: Table):
    for cell in one.cells:
        assert cell.row.reading in chains(cell.experiment), cell.row.name
    names = [row.name for row in one.rows]
    assert len(set(names)) == len(names)
    assert {name for row in one.rows for name in row.of} <= set(names)
    assert all(len(row.paper) in (0, len(one.columns)) for row in one.rows)


@each_table
def test_printed_comparisons_are_those_of_the_printed_figures(one: Table):
    for row in one.rows:
        if not row.compare or not row.paper:
            continue
        better, base = (one.row(name).paper for name in row.of)
        for figure, after, before in zip(row.paper, better, base, strict=True):
            if row.compare == "gain":
                assert figure == pytest.approx(after - before, abs=0.005)
            else:
                lower = row.measure == "forgetting"
                assert figure == pytest.approx(relative_improvement(before, after, lower), abs=0.02)


def test_the_same_experiment_is_printed_with_the_same_figure_everywhere():
    """Copied rows are other people's, and official rows the same figure for another program."""
    printed: dict[object, set[float]] = {}
    for cell in itertools.chain.from_iterable(one.cells for one in tables().values()):
        if cell.paper is not None and "copied" not in cell.row.label:
            key = (cell.shape.training, cell.row.reading, cell.row.measure)
            printed.setdefault(key, set()).add(cell.paper)
    assert all(len(figures) == 1 for figures in printed.values())
    assert len(printed) > 100


def test_the_protocols_are_the_papers():
    def found(name):
        for cell in tables()[name].cells:
            resolved = cell.experiment.resolved()
            sizes = group_sizes(resolved.stream, CLASSES[resolved.data.scale])
            yield resolved, sizes

    for resolved, sizes in found("sota"):
        assert len(sizes) - 1 in (5, 10)
        assert sizes[0] * 2 == sum(sizes) == CLASSES[resolved.data.scale]
        assert resolved.memory.per_class in (5, 10, 20)
    assert {resolved.memory.per_class for resolved, _ in found("no-replay")} == {0}
    assert {len(sizes) - 1 for _, sizes in found("steps")} == {1, 2, 5, 10, 25}
    assert {(sizes[0], len(sizes)) for _, sizes in found("initial-size")} == {(10, 10), (20, 9)}


def test_controls_stand_in_every_table_that_credits_dce():
    for name in ("sota", "no-replay", "components", "weights", "initial-size", "curves", "replay"):
        rows = tables()[name].rows
        assert sum(row.label.startswith("control") for row in rows) >= 2, name


def test_weights_of_controls_are_in_the_experiment():
    cells = {cell.row.name: cell.experiment for cell in tables()["weights"].cells}
    methods: dict[str, Method] = {name: one.method for name, one in cells.items()}
    assert methods["quarter"].classification_weight == 0.25
    assert [one.name for one in cells["halved"].effects] == ["halved", "momentum"]


def test_a_part_keeps_the_figures_of_its_cells_and_what_a_comparison_needs():
    whole = tables()["sota"]
    part = whole.part(["r5-lucir-gain"], ["cifar100-t10", "imnet-sub-*"])
    assert [row.name for row in part.rows] == ["r5-lucir", "r5-lucir-dde", "r5-lucir-gain"]
    assert part.row("r5-lucir-gain").paper == (6.93, 4.42, 8.26)
    with pytest.raises(SettingsError, match=r"'r6-\*' is none of the rows of sota"):
        whole.part(["r6-*"])


def test_a_table_of_ones_own(tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    one = table(str(tmp_path / "tiny.toml"))
    assert (one.name, one.tolerance) == ("tiny", 5)
    (cell,) = one.cells
    assert cell.paper == 60 and cell.experiment.method.name == "lucir"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (None, "cannot read"),
        ("tolerance =", "holds no table"),
        ("tolerance = 1", "holds no table"),
        (TINY.replace("title", "titel"), "holds no table"),
        (TINY.replace('part = "lucir"', 'part = "lucia"'), "holds no table"),
        ("tolerance = 1\n[tables]", "holds 0 tables"),
    ],
)
def test_what_is_no_table_is_one_line(tmp_path, text, line):
    path = tmp_path / "mine.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsError, match=line) as error:
        table(str(path))
    assert "\n" not in str(error.value)


def test_an_unknown_table_names_the_nearest():
    with pytest.raises(SettingsError, match=r"'sot'.*sota"):
        table("sot")
