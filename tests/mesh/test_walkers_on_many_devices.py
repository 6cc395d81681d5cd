"""Walkers on many devices: the same walk on any number, and what travels between them."""

from __future__ import annotations

import pytest

from mesh import devices

MESHES = [{"walkers": n} for n in (2, 3, 4, 8)]


def check(found: dict, runs: int) -> None:
    """(same positions, difference of traces, difference of estimators) of every run.

    Walkers move by the same bits. The energy of one is a sum over its electrons that the compiler
    groups by the number of walkers beside it, and estimators sum large arrays in the order of
    devices: both differ by rounding.
    """
    assert len(found) == runs
    for run, (same, traces, estimators) in found.items():
        assert same, run
        assert max(traces, estimators) < 1e-13, (run, traces, estimators)


@pytest.mark.multiprocess
def test_the_comb_gives_every_slot_the_same_walker():
    """Spreads of ln w from less than a comb waits for to one that empties devices."""
    found = devices.run("walker_combs", 8, [1, 2, 3, 4, 8], 20, [0.2, 0.6, 3.0])
    assert found == dict.fromkeys("12348", True)


def test_the_comb_on_two_devices():
    assert devices.run("walker_combs", 2, [1, 2], 4, [0.6, 3.0]) == {"1": True, "2": True}


@pytest.mark.multiprocess
def test_walkers_move_by_the_same_bits_on_three_devices():
    check(devices.run("walker_runs", 3, [{"walkers": 3}], ["quick dmc"]), 1)


@pytest.mark.multiprocess
def test_one_walker_on_each_device_agrees_to_rounding():
    """The compiler groups its arithmetic otherwise than that of two."""
    found = devices.run("walker_runs", 2, [{"walkers": 2}], ["quick vmc"], 2)
    ((_, off, _),) = found.values()
    assert off < 1e-13


@pytest.mark.slow
@pytest.mark.multiprocess
@pytest.mark.parametrize("name", ["quick vmc", "quick dmc", "vmc", "dmc"])
def test_walkers_move_by_the_same_bits_on_any_number_of_devices(name):
    check(devices.run("walker_runs", 8, MESHES, [name]), 4)


@pytest.mark.slow
@pytest.mark.multiprocess
def test_nonlocal_energies_agree_to_rounding():
    """Their ratios of Ψ at many points are products whose rounding follows the number of walkers;
    moves, T-moves among them, are the same.
    """
    found = devices.run("walker_runs", 2, [{"walkers": 2}], ["t-moves"])
    assert [difference < 1e-11 for _, difference, _ in found.values()] == [True]


@pytest.mark.slow
@pytest.mark.multiprocess
def test_twists_have_an_axis_of_their_own():
    """Where a device has one twist, products are rounded otherwise than of several together."""
    meshes = [{"twists": 2}, {"twists": 2, "walkers": 2}, {"twists": 2, "walkers": 4}]
    check(devices.run("walker_runs", 8, meshes, ["twists"]), 3)
    found = devices.run("walker_runs", 4, [{"twists": 4}], ["twists"])
    assert [difference < 1e-11 for _, difference, _ in found.values()] == [True]


@pytest.mark.multiprocess
def test_few_walkers_travel_and_never_all():
    """One number of each device is gathered; walkers go by permutes of a batch, with inverses."""
    walkers = 256
    for row in devices.run("blocks_of_walkers", 8, [2, 8], 14, walkers):
        count, batch = row["devices"], row["batch"]
        assert batch == 4
        sums = {"all-reduce", "all-gather"}
        for kind, size in row["collectives"]:
            assert kind in {"collective-permute", *sums}
            if kind == "all-gather":
                assert size == 8 * count
            # Two integers for each of 32 groups of walkers and some numbers.
            most = 32 * 16 * 8 if kind in sums else batch * row["walker"]
            assert size <= most, (kind, size)
        permuted = [size for kind, size in row["collectives"] if kind == "collective-permute"]
        # To the right and to the left: walkers, energy, age, and the slots that they fill.
        assert sum(permuted) == 2 * batch * (row["walker"] + 8 + 4 + 16)


@pytest.mark.slow
@pytest.mark.multiprocess
@pytest.mark.parametrize(("electrons", "walkers"), [(200, 1024), (1930, 512)])
def test_memory_falls_with_the_number_of_devices(electrons, walkers):
    """Only compiled: 0.18 MB for each walker of 200 electrons, 15 MB for one of 1930."""
    rows = devices.run("blocks_of_walkers", 8, [2, 4, 8], electrons, walkers)
    two = rows[0]["bytes"]
    assert two * 2 > walkers * 8 * electrons**2 / 2  # inverses of both spins
    for row in rows:
        assert 0.85 < two * 2 / row["bytes"] / row["devices"] < 1.15, row
