"""Eigenstate blocks cut by l: the same runs, two rows sent, memory that falls with the devices."""

from __future__ import annotations

import pytest

from mesh import devices


@pytest.mark.multiprocess
def test_blocks_by_l_give_the_same_runs():
    """13 channels divide by none of these: 7 + 6, 5 + 5 + 3, 4 + 4 + 4 + 1, and 2 × 6 + 1."""
    found = devices.run(
        "eigen_runs", 8, "runs", 13, [2, 3, 4, 8], ["lanczos", "taylor", "crank-nicolson"]
    )
    assert len(found) == 12
    for run, error in found.items():
        assert error < 1e-12, run


@pytest.mark.multiprocess
def test_a_run_goes_on_with_another_number_of_devices():
    """13 channels are padded to 14 on two devices, and to 15 on three; so are factors."""
    counts, names = [[2, 1], [3, 2], [1, 3]], ["crank-nicolson"]
    found = devices.run("eigen_runs", 3, "continued", 13, counts, names)
    assert len(found) == 3
    for run, error in found.items():
        assert error < 1e-12, run


@pytest.mark.multiprocess
def test_a_product_sends_two_rows_and_its_memory_falls_with_the_devices():
    """l ≤ 23 with 640 states each: 75 MB of blocks."""
    n, channels = 640, 24
    rows = devices.run("eigen_runs", 8, "programs", channels, n, [1, 2, 4, 8])
    for row in rows:
        sent = [("collective-permute", 16 * n)] * 2 if row["devices"] > 1 else []
        assert [tuple(c) for c in row["collectives"]] == sent
        # One device has 23 blocks, several hold 24.
        assert 0.85 < rows[0]["bytes"] / row["bytes"] / row["devices"] < 1.15, row
