"""Full matrices in tiles on rows × columns: products, runs, collectives and memory."""

from __future__ import annotations

import pytest

from mesh import devices

MESHES = [
    {"rows": 2},
    {"columns": 3},
    {"rows": 2, "columns": 2},
    {"rows": 2, "columns": 3},
    {"rows": 4, "columns": 2},
]


@pytest.mark.multiprocess
def test_products_of_tiles_are_those_of_the_matrices():
    """53 rows divide by none of these; sums over panels are taken in another order."""
    for row in devices.run("dense_runs", 8, "products", 53, MESHES):
        assert len(row["tiles"]) == 1, row
        for axis, held in row["shares"].items():
            side = row["tiles"][0][axis == "columns"]
            assert sum(held) == 53 and max(held) == min(side, 53), row
        assert max(row["errors"]) < 1e-13, row


@pytest.mark.multiprocess
def test_exponentials_in_tiles_give_the_same_runs():
    meshes = [{"rows": 2}, {"columns": 3}, {"rows": 2, "columns": 2}, {"rows": 4, "columns": 2}]
    for error in devices.run("dense_runs", 8, "runs", meshes):
        assert error < 1e-12


@pytest.mark.multiprocess
def test_an_exponential_gathers_panels_and_its_memory_falls_with_the_devices():
    """Only compiled, at the 32 768 of the largest matrices: one takes 8 GiB.

    On one device the exponential keeps 6 matrices, on many as many tiles and the panels.
    """
    meshes = [{}, {"rows": 2}, {"rows": 2, "columns": 2}, {"rows": 2, "columns": 4}]
    one, *rows = devices.run("dense_runs", 8, "programs", 32768, meshes)
    assert one["collectives"] == []
    for row in rows:
        assert 0.95 < row["bytes"] * row["devices"] / one["bytes"] < 1.15, row
        assert {kind for kind, _ in row["collectives"]} == {"all-gather"}, row
        # What is gathered at a time is a part of one tile.
        assert all(size <= row["tile"] / 8 for _, size in row["collectives"]), row
