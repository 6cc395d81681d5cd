"""Spinors in pairs of |μ| over "angular", and in segments of r over "space": products, runs,
collectives and memory."""

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
        assert sum(row["shares"]["angular"]) == 2 * 7 * 8, row


@pytest.mark.multiprocess
def test_more_devices_than_pairs_share_them_in_segments_of_r():
    """Four pairs of |μ| on 2 × 2 and 4 × 2 devices, and 11 intervals of r, which are 8 and 3."""
    rows = devices.run("spinor_runs", 8, "products", [[3, None], [5, 2.5]], [[2, 2], [4, 2]])
    assert len(rows) == 4
    for row in rows:
        assert max(row["errors"]) < 1e-13 and min(row["scale"]) > 0.1, row
        _, mu_max, mesh = row["case"]
        assert row["shares"]["space"] == [8, 3] and len(row["shares"]["angular"]) == mesh["angular"]
        # 4·3 − 2·3 + 2 and 4·5 − 2·3 + 2 rows of a pair, on two devices.
        assert row["held"] == (4 if mu_max is None else 8) * 4 // mesh["angular"], row


@pytest.mark.multiprocess
@pytest.mark.slow
def test_runs_with_more_devices_than_pairs():
    """One run that goes on with another mesh, too."""
    meshes, names = [[2, 2], [4, 2]], ["levels", "splines"]
    found = devices.run("spinor_runs", 8, "runs", 3, meshes, names)
    found |= devices.run("spinor_runs", 4, "continued", 3, ["splines"], [[[2, 2], 1], [3, [2, 2]]])
    assert len(found) == 6
    assert all(error < 1e-12 for error in found.values()), found


@pytest.mark.multiprocess
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kappa_max", "counts"),
    [(3, [2, 3]), (7, [4, 8])],
)
def test_runs_on_many_devices(kappa_max, counts):
    """Mean momentum, density and populations among what is recorded."""
    names = ["levels", "collocation", "splines"]
    found = devices.run("spinor_runs", 8, "runs", kappa_max, counts, names)
    assert len(found) == len(counts) * len(names)
    assert all(error < 1e-12 for error in found.values()), found


@pytest.mark.multiprocess
@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_devices():
    """On one device channels have another order than in pairs, though |κ| ≤ 4 is 40 rows."""
    counts, names = [[2, 1], [1, 2], [2, 3]], ["levels", "splines"]
    found = devices.run("spinor_runs", 3, "continued", 4, names, counts)
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


@pytest.mark.multiprocess
def test_devices_that_share_pairs_turn_them_into_segments_and_back():
    """Only compiled: |κ| ≤ 16, 60 splines in 8 tiles. Two all-to-alls of three numbers for each
    spline; what is computed at (r, θ) is halved."""
    meshes = [[4, 1], [4, 2], [1, 2]]
    alone, *rows = devices.run("spinor_runs", 8, "programs", 16, 60, meshes)
    for row, permutes in zip(rows, (2, 0), strict=True):
        kinds = [kind for kind, _ in row["collectives"]]
        assert sorted(set(kinds)) == ["all-to-all", "collective-permute"][: 1 + permutes // 2], row
        assert kinds.count("collective-permute") == permutes, row
        turned = [size for kind, size in row["collectives"] if kind == "all-to-all"]
        assert turned == row["segments"], row
    assert rows[0]["bytes"] < 0.6 * alone["bytes"], rows


@pytest.mark.multiprocess
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kappa_max", "splines"),
    [("levels", 16, 40), ("splines", 16, 40), ("splines", 80, 1205)],
)
def test_levels_and_factors_lie_with_their_kappa(name, kappa_max, splines):
    """Only compiled, at the size of the largest published calculation, too. A state comes to them
    by an all-to-all and goes back by another; nothing large is on more than one device. Of M pairs
    M + 2 are computed, which few pairs on a device show."""
    one, *rows = devices.run("spinor_runs", 8, "steps", kappa_max, splines, [1, 2, 4, 8], name)
    for row in rows:
        count = row["devices"]
        assert row["held"] == [count], row
        kinds = {kind for kind, _ in row["collectives"]}
        assert kinds <= {"all-to-all", "collective-permute", "all-reduce"}, row
        turned = [size for kind, size in row["collectives"] if kind == "all-to-all"]
        assert turned and max(turned) < 1.3 * row["state"] / count, row
        assert row["bytes"] < 1.15 * (kappa_max / count + 2) / kappa_max * one["bytes"], row
        if kappa_max == 80:
            assert 0.85 < one["bytes"] / row["bytes"] / count < 1.15, row
