"""Grids in slabs: the same answer on any number of devices, and what travels between them."""

from __future__ import annotations

import math

import pytest

from mesh import devices

COUNTS = [1, 2, 3, 4, 8]
ROUNDING = 1e-12  # of direct methods: sums over devices are taken in another order


def check_operators(rows: list[dict], large: bool = True) -> None:
    for row in rows:
        assert row["cut"], row
        assert row["error"] < 1e-14, row
        # Small sine transforms are products of matrices, whose rounding follows their shapes.
        if large or row["order"] != "spectral" or row["boundary"] == "periodic":
            assert row["same_bits"], row
        if row["order"] != "spectral":
            assert row["plain_bits"], row


def test_operators_and_a_run_on_two_devices():
    """Sizes that do not divide are padded inside: 13 planes are 7 and 6."""
    found = devices.run("grid_quick", 2)
    check_operators(found["operators"], large=False)
    assert found["run"] < ROUNDING


SENTENCES = {
    "walkers": "mesh.walkers: must be left out here, since it divides the walkers of Monte Carlo, "
    "but a Grid can be divided by space only",
    "product": "mesh.walkers: must be left out here",
    "basis": "but a SphericalBasis can be divided by l only",
    "line": "a line cannot be divided among devices by waves",
    "implicit": "implicit steps need a whole line on one device",
    "planes": "mesh.space: must be at most 5, the number of points along the first axis, but is 8",
    "halo": "mesh.space: must be at most 7 for differences over 2 points",
    "matrix": "but the matrix of MatrixExponential can be divided by rows and columns only",
    "channels": "mesh.l: must be at most 3, the number of values of l, but is 4",
    "few l": "mesh.l: must be at most 3, the number of values of l, but is 4",
    "every m": "mesh.l: must be at most 2 for couplings over 5 rows and 9 channels, but is 4",
    "pairs": "mesh.angular: must be at most 4, the number of pairs of |μ|, but is 8; a mesh of "
    "angular and space takes more devices",
    "segments": "mesh.space: must be at most 2 for 8 channels in a pair of |μ| and 12 splines, but "
    "is 3",
    "explicit": "has an overlap matrix; use AngularSplit (length gauge) or CrankNicolson",
}


@pytest.mark.multiprocess
def test_what_cannot_be_divided_is_refused():
    found = devices.run("refusals", 8)
    assert set(found) == set(SENTENCES)
    for case, sentence in SENTENCES.items():
        assert sentence in found[case], found[case]


@pytest.mark.multiprocess
def test_operators_have_the_same_bits_on_any_number_of_devices():
    shapes = [[16, 12, 10], [13, 7, 9], [9, 6]]
    check_operators(devices.run("grid_operators", 8, COUNTS[1:], shapes, [2, 4]))
    large = [[300, 290]]  # sines by FFT
    check_operators(devices.run("grid_operators", 8, COUNTS[1:], large, ["spectral"]))


@pytest.mark.multiprocess
def test_two_updates_for_each_exchange_of_planes():
    """The rounding of one device differs, since it multiplies and adds in another grouping."""
    found = devices.run("grid_updates", 8, [2, 3, 4])
    assert found["same_bits"]
    assert found["error"] < 1e-15


@pytest.mark.multiprocess
@pytest.mark.parametrize(
    "names", [["split", "split4"], ["lanczos", "taylor"], ["chebyshev", "runge-kutta"]]
)
def test_propagators_and_observables_agree(names):
    found = devices.run("grid_runs", 8, COUNTS[1:], names)
    assert len(found) == 8
    for run, error in found.items():
        assert error < ROUNDING, run


@pytest.mark.multiprocess
def test_eigensolvers_agree():
    """Energies of converged states differ by far less than the residuals asked for."""
    found = devices.run("grid_levels", 8, COUNTS[1:])
    assert len(found) == 12
    for run, error in found.items():
        assert error < 1e-11, run


@pytest.mark.multiprocess
def test_a_split_step_exchanges_two_slabs_and_a_stencil_its_outermost_planes():
    n0, n1, n2 = 30, 20, 24
    for row in devices.run("grid_programs", 8, [2, 4, 8], [n0, n1, n2], ["spectral", 4]):
        count, share = row["devices"], math.ceil(n0 / row["devices"])
        kinds = [kind for kind, _ in row["collectives"]]
        if row["order"] == "spectral":
            turned = math.ceil(n1 / count) * count
            # Each in four portions, one after another in a loop.
            assert kinds == ["all-to-all"] * 2
            assert [size for _, size in row["collectives"]] == [16 * share * turned * n2 / 4] * 2
            continue
        plane = 16 * n1 * n2
        permutes = [size for kind, size in row["collectives"] if kind == "collective-permute"]
        sums = [size for kind, size in row["collectives"] if kind == "all-reduce"]
        assert set(kinds) <= {"collective-permute", "all-reduce"}
        assert permutes == [2 * plane] * 2
        # Both ends of a periodic grid that does not divide, and two norms.
        ends = [] if n0 % count == 0 else [4 * plane]
        assert sorted(s for s in sums if s > 64) == ends


@pytest.mark.multiprocess
@pytest.mark.parametrize("n", [512, 2048])
def test_memory_of_a_step_falls_with_the_number_of_devices(n):
    """Only compiled, at 512³ and 2048³: 2 and 128 GiB for ψ alone.

    What an all-to-all sends and receives, a quarter of a slab at a time, comes on top.
    """
    for order, extra in (("spectral", 1.15), (2, 1.02)):
        one, two, *rows = devices.run("grid_programs", 8, [1, 2, 4, 8], [n, n, n], [order])
        assert one["bytes"] > 2 * 16 * n**3
        for row in (two, *rows):
            assert 0.85 < two["bytes"] * 2 / row["bytes"] / row["devices"] < 1.15, row
            assert row["bytes"] < extra * one["bytes"] / row["devices"], row


@pytest.mark.multiprocess
def test_the_memory_estimate_of_a_run_falls_with_the_number_of_devices():
    """All of the loop: ψ before and after, V, and what a step needs, 4.5 states on one device.
    Exchanges take no more than that, since transforms need the same room before and after.
    """
    one, two, *rows = devices.run("grid_programs", 8, [1, 2, 4, 8], [48, 40, 40], "run")
    for row in (two, *rows):
        assert 0.95 < two["bytes"] * 2 / row["bytes"] / row["devices"] < 1.05, row
        assert 0.95 < row["bytes"] * row["devices"] / one["bytes"] < 1.15, row
