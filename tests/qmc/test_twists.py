"""Many twists as one run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from zitter import checks
from zitter.qmc import (
    ElectronGas,
    MomentumDensity,
    SlaterJastrow,
    Trap,
    U,
    dmc,
    twist_grid,
    vmc,
)
from zitter.qmc.twists import prepare
from zitter.qmc.walk import variational

TWISTS = [(0.1, 0.25, 0.2), (0.3, 0.1, 0.45)]


@pytest.mark.slow
def test_the_average_of_two_twists_is_that_of_their_exact_energies():
    gas = ElectronGas(4, 10.0, allow_open_shell=True)
    out = vmc(SlaterJastrow(gas), walkers=128, blocks=60, twists=TWISTS)
    exact = [
        ElectronGas(4, 10.0, twist=twist, allow_open_shell=True).hartree_fock() for twist in TWISTS
    ]
    # Plane waves have no variance of the kinetic energy: the average is exact.
    assert out.estimate("kinetic").mean == pytest.approx(np.mean([e[1] for e in exact]), rel=1e-10)
    assert abs(out.energy - np.mean([e[0] for e in exact])) < 3 * out.energy_error
    for row, (energy, _, _) in zip(out.info["twists"], exact, strict=True):
        assert abs(row["energy"] - energy) < 4 * row["error"]


@pytest.mark.slow
def test_one_failing_twist_does_not_end_the_others(monkeypatch):
    """A walker of the second twist starts at NaN; the first and third go on and are averaged."""
    gas = ElectronGas(4, 10.0, allow_open_shell=True)
    first_positions, started = variational.first_positions, []

    def spoiled(psi, walkers, key, start=None):
        started.append(key)
        r, key = first_positions(psi, walkers, key, start)
        return r * (np.nan if len(started) == 2 else 1.0), key

    monkeypatch.setattr(variational, "first_positions", spoiled)
    twists = [TWISTS[0], (0.2, 0.2, 0.1), TWISTS[1]]
    options: dict[str, Any] = {"walkers": 128, "blocks": 60}
    out = vmc(SlaterJastrow(gas), **options, twists=twists)
    assert np.isfinite(out.energy)
    assert [row["energy"] is None for row in out.info["twists"]] == [False, True, False]
    assert "twist (0.2, 0.2, 0.1) failed" in out.summary()


def test_a_twist_with_an_open_shell_is_reported():
    psi = SlaterJastrow(ElectronGas(2, 5.0))
    twists = [(0.1, 0.2, 0.3), (0.5, 0.0, 0.0)]
    out = vmc(psi, walkers=16, blocks=6, equilibration=10, twists=twists)
    assert np.isfinite(out.energy)
    assert "twist (0.5, 0, 0) was refused and left out: n: must fill closed shells" in out.summary()
    with pytest.raises(checks.InputError, match="twists: must hold one that can run"):
        vmc(psi, twists=[(0.5, 0.0, 0.0)])


@pytest.mark.slow
def test_dmc_at_two_twists_is_two_runs():
    """One run over two twists against one run at each, within the error bars of all."""
    u = [U(order=4)]
    options = {"timestep": 0.5, "walkers": 128, "blocks": 60, "equilibration": 10}
    out = dmc(SlaterJastrow(ElectronGas(2, 5.0), u), **options, twists=TWISTS)
    for twist, row in zip(TWISTS, out.info["twists"], strict=True):
        alone = dmc(
            SlaterJastrow(ElectronGas(2, 5.0, twist=twist), [U(order=4)]), **options, seed=5
        )
        error = np.hypot(alone.energy_error, row["error"])
        assert abs(alone.energy - row["energy"]) < 4 * error


def test_grids_of_twists():
    assert len(twist_grid(2)) == 4
    assert len(twist_grid(4, 2)) == 8
    # Equally weighted points integrate every wave below the grid's own frequency to zero.
    for count, waves in ((4, ((1, 0, 0), (1, 1, 0), (2, 1, 3))), (3, ((1, 0, 0), (1, 2, 0)))):
        points = np.asarray(twist_grid(count))
        assert np.min(np.max(np.abs(points), axis=1)) > 0  # Γ is none of them
        assert np.max(np.abs(points)) < 0.5
        for wave in waves:
            assert np.mean(np.cos(2 * np.pi * points @ wave)) == pytest.approx(0, abs=1e-12)
    assert len(twist_grid(3)) == 27
    assert twist_grid(1, 2) == [(0.25, 0.25)]


def test_the_table_of_twists_drops_the_transient_of_the_average():
    """Two twists whose first blocks are far off, and exact afterwards but for small noise."""
    gas = ElectronGas(4, 10.0, allow_open_shell=True)
    _, twists = prepare(SlaterJastrow(gas), TWISTS)
    noise = 1e-3 * np.random.default_rng(0).normal(size=(100, 2))
    energy = np.array([1.0, 3.0]) + noise
    energy[:10] += 5.0
    weights = np.random.default_rng(1).uniform(0.5, 1.5, size=(100, 2))
    averaged, start, told = twists.average({"energy": energy}, weights)
    assert 10 <= start <= 50
    kept = slice(start, None)
    means = np.sum((weights * energy)[kept], 0) / np.sum(weights[kept], 0)
    assert [row["energy"] for row in told["twists"]] == pytest.approx(means, rel=1e-12)
    assert np.mean(averaged["energy"][kept]) == pytest.approx(means.mean(), rel=1e-12)


def test_a_twist_that_has_not_forgotten_its_start_has_no_error_bar():
    """One drifts through all blocks and one stands still, beside one whose blocks are noise."""
    gas = ElectronGas(4, 10.0, allow_open_shell=True)
    _, twists = prepare(SlaterJastrow(gas), [*TWISTS, (0.2, 0.1, 0.3)])
    noise = 0.1 * np.random.default_rng(0).normal(size=20)
    energy = np.stack([np.linspace(0.0, 1.0, 20), noise, np.ones(20)], axis=1)
    moved = np.broadcast_to([0.5, 0.5, 0.0], (20, 3))
    records = {"energy": energy, "variance": np.ones((20, 3)), "acceptance": moved}
    _, start, told = twists.average(records, np.ones((20, 3)))
    assert start == 0
    drifts, good, stuck = (row["error"] for row in told["twists"])
    assert drifts == stuck == np.inf and 0 < good < 0.1
    note = "the error bars of single twists rest on as few as 1 independent stretches of 20 blocks"
    assert sum(note in said for said in told["notes"]) == 1


def test_a_number_of_twists_is_a_grid():
    psi = SlaterJastrow(ElectronGas(2, 5.0))
    _, grid = prepare(psi, 2)
    assert grid.vectors == tuple(twist_grid(2))
    with pytest.raises(checks.InputError, match=r"twists.1: must have shape \(3\)"):
        vmc(psi, twists=[(0.1, 0.2, 0.3), (0.1,)])
    for wrong in (0.25, "Γ", True):
        with pytest.raises(checks.InputError, match="twists: must be a list of twists"):
            vmc(psi, twists=wrong)  # type: ignore[arg-type]
    with pytest.raises(checks.InputError, match="twists: must be at least 1, but is 0"):
        vmc(psi, twists=0)


def test_the_momentum_density_at_twists_is_refused():
    with pytest.raises(checks.InputError, match="estimators: must not hold MomentumDensity"):
        vmc(SlaterJastrow(ElectronGas(2, 5.0)), twists=TWISTS, estimators=[MomentumDensity()])


def test_twists_need_plane_waves():
    sentence = r"twists: must be used with plane waves.* Nodeless: .*twist=…\).* to average_runs"
    with pytest.raises(checks.InputError, match=sentence):
        vmc(SlaterJastrow(Trap(frequency=1.0)), twists=[(0.1, 0.2, 0.3)])
    with pytest.raises(checks.InputError, match=r"twists.0: must have shape \(3\)"):
        vmc(SlaterJastrow(ElectronGas(2, 1.0)), twists=[(0.1, 0.2)])
