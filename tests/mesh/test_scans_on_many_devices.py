"""Scans over the axis `batch`: any count, the same numbers, the work really spread."""

from __future__ import annotations

import math

import pytest

from mesh import devices


@pytest.mark.multiprocess
def test_items_of_a_scan_are_spread():
    """Each device has as many items, filled up with the last; every item is computed alone."""
    meshes = [{"batch": n} for n in (2, 3, 4, 8)]
    found = devices.run("scan_runs", 8, meshes, [1, 5, 8])
    for row in found["rows"]:
        each = math.ceil(row["count"] / row["devices"])
        assert row["points"] == [each] * row["devices"], row
        whole = row["count"] % row["devices"] == 0  # else what filled up has been cut off
        if whole and row["batch"] is None:
            assert row["values"] == row["points"], row
        held = row["shares"]["batch"]
        assert sum(held) == row["count"] and max(held) == each, row
        # Batched products of another width may be summed in another order.
        assert row["error"] < 1e-13, row
    assert any("lmax = 1 is too small" in text for text in found["warned"])
    product, other, single = found["refused"]
    assert product == (
        "mesh.space: must be left out here, since it divides a grid, in slabs along its first "
        "axis, but a scan can be divided by batch only"
    )
    assert other.startswith("mesh.walkers: must be left out here")
    assert single.startswith("mesh.batch: must be left out here, since it divides the items")
