"""Splines times harmonics cut by channels: the same runs, what a step sends, and its memory."""

from __future__ import annotations

import pytest

from mesh import devices

ROUNDING = 1e-12  # sums over devices are taken in another order


def check_bits(rows: list[dict]) -> None:
    for row in rows:
        assert set(row["errors"].values()) == {0.0}, row


@pytest.mark.slow
def test_products_on_three_devices():
    """Seven channels are 3, 3 and 1."""
    check_bits(devices.run("spherical_runs", 3, "products", [[6, 0]], [3]))


@pytest.mark.multiprocess
@pytest.mark.slow
def test_products_have_the_same_bits_on_any_number_of_devices():
    """Channels that begin at l = 2 too."""
    check_bits(devices.run("spherical_runs", 8, "products", [[12, 0], [20, 2]], [2, 4, 8]))


@pytest.mark.multiprocess
@pytest.mark.slow
def test_products_of_every_m_differ_by_the_order_of_four_terms():
    """25 channels with couplings over nine rows. Each channel mixes its neighbors by a small matrix
    product, one of many, which may be grouped otherwise where a device has fewer of them: two
    roundings of a sum of four may differ. What keeps l and m is the same to the bit."""
    rows = devices.run("spherical_runs", 3, "products", [[4, "all"]], [2, 3])
    assert len(rows) == 2
    for row in rows:
        light = {k: e for k, e in row["errors"].items() if k.startswith(("length", "velocity"))}
        local = set(row["errors"]) - set(light)
        assert local == {"H0", "S", "inverse"}, row
        assert {row["errors"][name] for name in local} == {0.0}, row
        assert all(error < 4 * 2.3e-16 for error in light.values()), row


@pytest.mark.multiprocess
@pytest.mark.slow
@pytest.mark.parametrize("names", [["split", "length", "velocity"], ["split4", "collocation"]])
def test_propagators_and_observables_agree(names):
    """13 channels divide by none of these: 7 + 6, 5 + 5 + 3, 3 × 4 + 1, and 6 × 2 + 1."""
    found = devices.run("spherical_runs", 8, "runs", 12, 0, [2, 3, 4, 8], names)
    assert len(found) == len(names) * 4
    assert all(error < ROUNDING for error in found.values()), found


@pytest.mark.multiprocess
@pytest.mark.slow
def test_light_that_couples_every_m():
    found = devices.run("spherical_runs", 3, "runs", 4, "all", [2, 3], ["split", "velocity"])
    assert len(found) == 4
    assert all(error < ROUNDING for error in found.values()), found


@pytest.mark.multiprocess
@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_devices():
    """Seven channels are padded to 8 on four devices, to 9 on three."""
    counts, names = [[3, 1], [1, 4], [3, 4]], ["split", "length", "collocation"]
    found = devices.run("spherical_runs", 4, "continued", names, counts)
    assert len(found) == 9
    assert all(error < ROUNDING for error in found.values()), found


@pytest.mark.multiprocess
@pytest.mark.slow
def test_an_implicit_step_sends_two_rows_for_each_product_and_sums_of_a_few_numbers():
    """24 channels of 60 splines. Plain iteration and BiCGSTAB hold one product each; the last l,
    watched at each record, is one row more."""
    n, names = 60, ["length", "velocity", "collocation"]
    for row in devices.run("spherical_runs", 8, "programs", 23, n, [2, 8], names):
        permutes = [size for kind, size in row["collectives"] if kind == "collective-permute"]
        sums = [size for kind, size in row["collectives"] if kind == "all-reduce"]
        assert permutes == [16 * n] * 4, row
        assert len(permutes) + len(sums) == len(row["collectives"]), row
        assert sum(sums) < 16 * n + 200, row


@pytest.mark.multiprocess
@pytest.mark.slow
def test_a_split_step_turns_channels_into_radii_and_back_for_each_kick():
    """24 channels on each of two and eight devices, 60 splines padded to 60 and 64 radii."""
    for row in devices.run("spherical_runs", 8, "programs", 23, 60, [2, 8], ["split"]):
        share, radii = 24 // row["devices"], 60 if row["devices"] == 2 else 64
        turns = [size for kind, size in row["collectives"] if kind == "all-to-all"]
        assert turns == [16 * share * radii] * 4, row
        assert [kind for kind, _ in row["collectives"]].count("all-reduce") == 1, row
        assert len(row["collectives"]) == 5, row


@pytest.mark.multiprocess
@pytest.mark.slow
def test_memory_of_a_run_falls_with_the_number_of_devices():
    """96 channels of 200 splines, only compiled: factors are 60 times as large as the state."""
    one, *rows = devices.run("spherical_runs", 8, "programs", 95, 200, [1, 2, 4, 8], ["velocity"])
    assert one["bytes"] > 30 * one["state"]
    for row in rows:
        assert 0.9 < one["bytes"] / row["bytes"] / row["devices"] < 1.1, row
