"""Exact nearest neighbours: the same as sorting all scores, in memory that never holds them all."""

import made
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from remanence import neighbours
from remanence.neighbours import best, best_in_tiles


def best_by_sorting(table, count):
    return [sorted(range(len(row)), key=lambda j: -row[j])[:count] for row in table.tolist()]


def from_table(table):
    return lambda rows: table[rows]


@made.examples
@given(
    queries=st.integers(1, 30),
    candidates=st.integers(1, 12),
    tile=st.integers(1, 40),
    data=st.data(),
)
def test_the_same_as_sorting_for_every_size_of_tile(queries, candidates, tile, data):
    count = data.draw(st.integers(1, candidates))
    table = torch.randn(queries, candidates, generator=made.random(queries + 31 * candidates))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "TILE", tile)
        places, scores = best_in_tiles(from_table(table), queries, count)
    assert places.tolist() == best_by_sorting(table, count)
    assert torch.equal(scores, table.gather(1, places))


@pytest.mark.parametrize("columns", [255, 256, 257, 1000])
@pytest.mark.parametrize("kind", ["continuous", "ties", "few allowed", "sorted"])
def test_blocks_find_what_sorting_finds(columns, kind):
    """Also where many are equally good, or fewer than a block are allowed."""
    table = torch.randn(20, columns, generator=made.random(columns))
    if kind == "ties":
        table = (table * 2).round()
    if kind == "few allowed":
        table[:, 5:] = -torch.inf
    if kind == "sorted":
        table = table.sort(1).values
    scores, places = best(table, 1 if columns < 1000 else 3)
    assert torch.equal(scores, table.sort(1, descending=True).values[:, : scores.shape[1]])
    assert torch.equal(table.gather(1, places), scores)
    assert all(len(set(row)) == len(row) for row in places.tolist())


def test_each_tile_is_asked_for_once_and_none_is_larger_than_agreed(monkeypatch):
    monkeypatch.setattr(neighbours, "TILE", 4)
    table, asked = torch.randn(10, 3, generator=made.random(0)), []
    best_in_tiles(lambda rows: asked.append(rows) or table[rows], 10, 1)
    assert asked == [slice(0, 4), slice(4, 8), slice(8, 10)]


def test_forbidden_candidates_come_last_and_show_their_score():
    table = torch.tensor([[-torch.inf, 1, 2], [-torch.inf, -torch.inf, 0]])
    places, scores = best_in_tiles(from_table(table), 2, 2)
    assert places[0].tolist() == [2, 1] and places[1, 0] == 2
    assert scores.isneginf().tolist() == [[False, False], [False, True]]


@pytest.mark.parametrize("tile", [1, 7, 256])
def test_ties_are_broken_the_same_way_every_time(tile, monkeypatch):
    table = torch.randint(0, 3, (60, 40), generator=made.random(1)).float()
    expected = best_in_tiles(from_table(table), 60, 5)
    monkeypatch.setattr(neighbours, "TILE", tile)
    found = best_in_tiles(from_table(table), 60, 5)
    assert torch.equal(found[0], expected[0])
    assert torch.equal(found[1], table.topk(5, 1).values)


def test_no_table_of_all_pairs_is_ever_made():
    points = torch.randn(3000, 4, generator=made.random(2))
    with made.LargestTensor() as largest:
        best_in_tiles(lambda rows: points[rows] @ points.T, 3000, 3)
    assert largest.nbytes == neighbours.TILE * 3000 * 4
