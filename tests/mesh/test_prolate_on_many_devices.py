"""Two nuclei with the elements of ξ cut over "space": products, runs, levels, and what is sent."""

from __future__ import annotations

import pytest

from mesh import devices

ROUNDING = 1e-12  # sums over devices are taken in another order


def check_products(rows: list[dict]) -> None:
    """Products have the same bits; the picture and the joints of a solve are sums in any order.

    Complex matrices are multiplied by another routine where a device has one element: on some
    processors the last bits of small numbers differ, far below the rounding of the largest.
    """
    for row in rows:
        errors, turned = dict(row["errors"]), row["case"][1]
        assert errors.pop("resolvent") < 1e-14 and errors.pop("plane") < 1e-15, row
        assert max(errors.values()) <= (1e-16 if turned else 0.0), row


@pytest.mark.multiprocess
def test_products_and_solves_on_three_devices():
    """Five elements are 2, 2 and 1, one of them padding."""
    check_products(devices.run("prolate_runs", 3, "products", [3], [[0, False]]))


@pytest.mark.multiprocess
@pytest.mark.slow
def test_products_agree_on_any_number_of_devices():
    """Odd m has other functions, and beyond a joint the coordinate may be complex."""
    cases = [[1, False], [0, True]]
    check_products(devices.run("prolate_runs", 5, "products", [2, 4, 5], cases))


@pytest.mark.multiprocess
@pytest.mark.slow
@pytest.mark.parametrize("names", [["length", "velocity"], ["collocation", "lanczos", "taylor"]])
def test_propagators_and_observables_agree(names):
    """Nine elements divide by three only."""
    found = devices.run("prolate_runs", 8, "runs", [2, 3, 4, 8], names, 9)
    assert len(found) == len(names) * 4
    assert all(error < ROUNDING for error in found.values()), found


@pytest.mark.multiprocess
@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_devices():
    found = devices.run("prolate_runs", 4, "continued", ["velocity"], [[3, 1], [1, 4], [3, 4]])
    assert len(found) == 3
    assert all(error < ROUNDING for error in found.values()), found


@pytest.mark.multiprocess
@pytest.mark.slow
def test_levels_agree_to_the_tolerance_of_their_solver():
    """Residuals of 1e-7 leave 1e-14 of the energies, far below their rounding of 1e-12 (of 500)."""
    found = devices.run("prolate_runs", 4, "levels", [2, 3, 4])
    assert len(found) == 3
    assert all(error < 1e-11 for error in found.values()), found


@pytest.mark.multiprocess
@pytest.mark.slow
def test_a_step_sends_joints_only_and_its_memory_falls_with_the_number_of_devices():
    """16 elements of 11 rows with 20 values of η; factors are ten numbers for each coefficient."""
    one, *rows = devices.run("prolate_runs", 8, "programs", [1, 2, 4, 8], ["velocity"])
    assert one["collectives"] == [] and one["bytes"] > 10 * one["state"]
    for row in rows:
        assert row["held"] == [row["devices"]], row
        kinds = {kind for kind, _ in row["collectives"]}
        assert kinds == {"collective-permute", "all-gather", "all-reduce"}, row
        joints = 16 * 16 * 20  # bytes of all: nothing larger is ever sent
        assert max(size for _, size in row["collectives"]) <= joints, row
        permutes = [size for kind, size in row["collectives"] if kind == "collective-permute"]
        assert max(permutes) == 16 * 20, row
        assert 0.85 < one["bytes"] / row["bytes"] / row["devices"] < 1.15, row
