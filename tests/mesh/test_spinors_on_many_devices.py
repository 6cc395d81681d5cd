"""Spinors in pairs of |μ| over "angular": products, runs, collectives and memory."""

from __future__ import annotations

import pytest

from mesh import devices


@pytest.mark.multiprocess
def test_products_in_pairs_are_those_of_the_whole():
    """Odd and even numbers of |μ|, fewer |μ| than |κ|, pairs that no number of devices divides."""
    cases = [[3, None], [5, 2.5], [6, None]]
    for row in devices.run("spinor_runs", 8, "products", cases, [2, 3]):
        assert max(row["errors"]) < 1e-13 and min(row["scale"]) > 0.1, row
    for row in devices.run("spinor_runs", 8, "products", [[7, None]], [4, 5, 8]):
        assert max(row["errors"]) < 1e-13 and min(row["scale"]) > 0.1, row
        assert sum(row["shares"]) == 2 * 7 * 8 and min(row["shares"]) >= 0, row


@pytest.mark.multiprocess
@pytest.mark.slow
def test_runs_on_many_devices():
    names = ["levels", "collocation", "splines"]
    found = devices.run("spinor_runs", 3, "runs", 3, [2, 3], names)
    assert len(found) == 6
    assert all(error < 1e-12 for error in found.values()), found


@pytest.mark.multiprocess
def test_a_product_takes_one_pair_from_each_neighbor():
    """Only compiled: |κ| ≤ 16, 40 splines. Values of M + 2 pairs are held where M are owned."""
    one, *rows = devices.run("spinor_runs", 8, "programs", 16, 40, [1, 2, 4, 8])
    assert one["collectives"] == []
    for row in rows:
        assert sorted(kind for kind, _ in row["collectives"]) == 2 * ["collective-permute"], row
        assert all(size == row["pair"] for _, size in row["collectives"]), row
        own = 16 / row["devices"]
        assert row["bytes"] < 1.5 * (own + 2) / 16 * one["bytes"], row
