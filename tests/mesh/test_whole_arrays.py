"""A state that outgrows one device is never whole on one, neither first nor last."""

from __future__ import annotations

from mesh import devices, whole_arrays


def test_arrays_of_many_processes_come_in_portions():
    found = devices.run("whole_arrays", 8, "gather")
    assert all(found["same"])
    assert found["most"] <= whole_arrays.PORTION
    assert found["times"] > len(found["same"])
