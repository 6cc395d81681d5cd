"""Optimizations on many devices: tables stay where they are made, and only sums travel."""

from __future__ import annotations

import pytest

from mesh import devices


@pytest.mark.multiprocess
def test_a_linear_step_on_three_devices():
    found = devices.run("optimizer_runs", 3, [3], ["linear"])
    assert max(found.values()) < 1e-12, found


@pytest.mark.slow
@pytest.mark.multiprocess
def test_steps_agree_on_any_number_of_devices():
    """Sums are taken in another order: 1e-15 in matrices, more in what is solved with them."""
    names = ["linear", "reconfiguration", "variance"]
    found = devices.run("optimizer_runs", 8, [2, 3, 4, 8], names)
    assert set(found) == {"sums", *names}
    assert max(found.values()) < 1e-12, found


@pytest.mark.multiprocess
def test_only_sums_travel():
    """A table of 32 768 samples and 40 parameters is 21 MB, and no device ever has more than its
    part; each matrix is one sum over the devices.
    """
    parameters, samples = 40, 32768
    rows = devices.run("optimizer_programs", 8, [1, 8], parameters, samples)
    one = rows[0]["bytes"]
    assert one > 2 * 8 * parameters * samples
    for row in rows:
        count, found = row["devices"], row["collectives"]
        for name in ("take", "energies", "derivatives", "sums"):
            assert found[name] == [], name
        assert found["over devices"] == ([["all-reduce", 8 * parameters**2]] if count > 1 else [])
        # The acceptance of all walkers and the like, as in any VMC step.
        assert all(kind == "all-reduce" and size <= 256 for kind, size in found["draw"])
        assert 0.85 < one / row["bytes"] / count < 1.15, row
