"""A state that outgrows one device is never whole on one, neither first nor last."""

from __future__ import annotations

import pytest

from mesh import devices, whole_arrays


@pytest.mark.multiprocess
def test_arrays_of_many_processes_come_in_portions():
    found = devices.run("whole_arrays", 8, "gather")
    assert all(found["same"])
    assert found["most"] <= whole_arrays.PORTION
    assert found["times"] > len(found["same"])
    # No device is taken that was not asked for.
    assert found["refused"].startswith("device: must be one of the first 2 where a mesh takes")


def test_a_grid_is_never_whole_on_one_device():
    """From V and ψ to the solution, also where only the second axis can be cut as it is."""
    for shape, found in devices.run("whole_arrays", whole_arrays.DEVICES, "carry").items():
        # Padded to 16 planes, 13 are a little more than a quarter on each of 4 devices.
        assert set(found) == {"H", "psi", "begin", "end"}
        assert max(found.values()) < 0.32, (shape, found)


@pytest.mark.multiprocess
def test_estimates_count_what_is_whole_on_the_first_device():
    found = devices.run("whole_arrays", whole_arrays.DEVICES, "needs")
    _, one = found["24 on 1"]
    _, even = found["24 on 4"]
    assert one / even > 0.85 * whole_arrays.DEVICES
    part, uneven = found["23 on 4"]
    # V and −iW, half a state and a whole one, and ψ itself lie beside the parts.
    assert uneven > part + 2.5
