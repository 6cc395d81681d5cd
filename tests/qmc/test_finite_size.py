"""Corrections for the size of the cell, and averages of separate runs."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from zitter import checks
from zitter.qmc import (
    Crystal,
    ElectronGas,
    Nucleus,
    Samples,
    SlaterJastrow,
    StructureFactor,
    U,
    average_runs,
    finite_size,
    vmc,
)


def samples(energy=1.0, structure=None, seed=0, blocks=64, divisor=1):
    noise = np.random.default_rng(seed).normal(size=(2, blocks))
    traces = {
        "energy": energy + 0.01 * noise[0],
        "kinetic": 2 * energy + 0.01 * noise[1],
        "variance": np.ones(blocks),
        "acceptance": np.full(blocks, 0.5),
    }
    estimators = {} if structure is None else {"structure_factor": structure}
    info = {"method": "VMC", "system": "a gas", "walkers": 2, "notes": []}
    return Samples(
        traces, np.ones(blocks), 0, "hartree per electron", info, estimators, divisor=divisor
    )


def structure(slope, curvature, noise=1e-9):
    k = np.array([0.5, 0.7, 0.9, 1.1])
    mean = slope * k**2 + curvature * k**4
    return {"x": k, "mean": mean, "error": np.full(4, noise)}


def test_the_gas_gains_half_a_plasmon():
    """Chiesa et al.: ΔV = ΔT = ω_p/4 for the cell, where S(k) = k²/2ω_p."""
    gas = ElectronGas(n=14, rs=2.0)
    plasmon = math.sqrt(3 / 2.0**3)
    run = samples(structure=structure(1 / (2 * plasmon), -0.02), divisor=14)
    found = finite_size(run, gas)
    assert found.slope == pytest.approx(1 / (2 * plasmon), rel=1e-6)
    assert found.potential == pytest.approx(plasmon / (4 * 14), rel=1e-6)
    assert found.kinetic == pytest.approx(plasmon / (4 * 14), rel=1e-6)
    assert found.energy == pytest.approx(run.energy + plasmon / (2 * 14), rel=1e-9)
    assert found.error == pytest.approx(run.energy_error, rel=1e-4)
    assert "hartree per electron" in str(found)


def test_an_insulator_has_a_determinant_that_is_quadratic_too():
    gas = ElectronGas(n=14, rs=2.0)
    run = samples(structure=structure(0.3, 0.0), divisor=14)
    bare = samples(structure=structure(0.4, 0.0), divisor=14)
    found = finite_size(run, gas, bare=bare)
    assert found.kinetic * 14 == pytest.approx((1 / 0.3 - 1 / 0.4) / 8, rel=1e-6)


def test_a_structure_factor_without_error_bars_is_refused():
    gas, run = ElectronGas(n=14, rs=2.0), samples(structure=structure(0.3, 0.1), divisor=14)
    errors = run.estimators["structure_factor"]["error"]
    whole = finite_size(run, gas)
    errors[1] = np.inf  # one that is not known has no say
    assert finite_size(run, gas).slope == pytest.approx(whole.slope, rel=1e-6)
    errors[:] = np.inf
    with pytest.raises(checks.InputError, match="samples: must know S"):
        finite_size(run, gas)


def test_noise_of_the_structure_factor_is_in_the_error():
    gas = ElectronGas(n=14, rs=2.0)
    slopes, first = [], finite_size(samples(structure=structure(0.3, 0.1, 0.01), divisor=14), gas)
    for seed in range(200):
        noisy = structure(0.3, 0.1, 0.01)
        noisy["mean"] = noisy["mean"] + 0.01 * np.random.default_rng(seed).normal(size=4)
        slopes.append(finite_size(samples(structure=noisy, divisor=14), gas).slope)
    # 200 draws know a standard deviation to 5 %.
    assert first.slope_error == pytest.approx(np.std(slopes), rel=0.2)


@pytest.mark.parametrize("slope", [0.3, 0.55, 3.0])
def test_the_noise_of_both_corrections_is_in_the_error(slope):
    """dE/dα and dE/dα₀ by differences of the energies found: ΔT says most where α is small, ΔV
    where it is large, and they go against each other."""
    gas, h = ElectronGas(n=14, rs=2.0), 1e-5
    wide, narrow, still = 0.05, 0.03, 1e-9

    def found(a, a0, noise, noise0):
        run = samples(structure=structure(a, 0.1, noise), divisor=14)
        bare = samples(structure=structure(a0, 0.1, noise0), divisor=14)
        return finite_size(run, gas, bare=bare), run.energy_error

    def energy(a, a0):
        return found(a, a0, still, still)[0].energy

    both, alone = found(slope, 2 * slope, wide, narrow)
    # Errors of α and α₀ are those of the fit, in proportion to the noise that was given.
    error, error0 = both.slope_error, both.slope_error * narrow / wide
    by_slope = (energy(slope + h, 2 * slope) - energy(slope - h, 2 * slope)) / (2 * h)
    by_bare = (energy(slope, 2 * slope + h) - energy(slope, 2 * slope - h)) / (2 * h)
    expected = np.sqrt(alone**2 + (by_slope * error) ** 2 + (by_bare * error0) ** 2)
    assert expected > 1.5 * alone
    assert both.error == pytest.approx(expected, rel=1e-6)


def test_what_finite_size_refuses():
    gas = ElectronGas(n=14, rs=2.0)
    with pytest.raises(checks.InputError, match="samples: must hold a StructureFactor"):
        finite_size(samples(), gas)
    with pytest.raises(checks.InputError, match="stars: must be at most the 4"):
        finite_size(samples(structure=structure(0.3, 0.0)), gas, stars=5)
    with pytest.raises(checks.InputError, match="system: must be periodic in three"):
        finite_size(samples(), ElectronGas(n=10, rs=1.0, dimension=2))
    with pytest.raises(checks.InputError, match="positive limit"):
        finite_size(samples(structure=structure(-0.3, 0.0)), gas)


@pytest.mark.slow
def test_the_measured_slope_is_that_of_plasmons():
    gas = ElectronGas(n=54, rs=5.0)
    psi = SlaterJastrow(gas, [U(order=6)])
    run = vmc(psi, walkers=64, blocks=60, estimators=[StructureFactor(5)])
    found = finite_size(run, gas)
    plasmon = math.sqrt(3 / 5.0**3)
    # u alone, cut off at the cell, is not optimized; 0.88(2) was seen.
    assert found.slope * 2 * plasmon == pytest.approx(1.0, abs=0.25)


def test_average_of_runs():
    runs = [
        samples(e, structure(s, 0.0, 0.1), seed) for seed, (e, s) in enumerate([(1, 1), (4, 2)])
    ]
    mean = average_runs(runs)
    assert mean.energy == pytest.approx((runs[0].energy + runs[1].energy) / 2, rel=1e-12)
    expected = math.hypot(runs[0].energy_error, runs[1].energy_error) / 2
    assert mean.energy_error == pytest.approx(expected, rel=0.2)  # the two are independent
    found = mean.estimators["structure_factor"]
    np.testing.assert_allclose(found["mean"], 1.5 * found["x"] ** 2)
    np.testing.assert_allclose(found["error"], 0.1 / math.sqrt(2))
    shared = average_runs(runs, weights=[3, 1])
    assert shared.energy == pytest.approx(0.75 * runs[0].energy + 0.25 * runs[1].energy, rel=1e-12)
    assert "average of 2 runs" in shared.summary()


def test_averages_keep_what_was_noted():
    large, stuck = (
        "the time step is too large for this energy to be used",
        "3 walkers had not moved",
    )
    runs = [samples(seed=seed) for seed in range(3)]
    for run, notes in zip(runs, ([large], [], [large, stuck]), strict=True):
        run.info["notes"] = notes
    mean = average_runs(runs)
    assert mean.notes[1:] == [f"runs 1, 3: {large}", f"run 3: {stuck}"]
    assert f"note: run 3: {stuck}" in mean.summary()
    # What is said about the error bar of a run is not about that of the average.
    short = [samples(blocks=3), samples(seed=1, blocks=3)]
    assert all("rests on" in run.notes[0] for run in short)
    assert len([note for note in average_runs(short).notes if "rests on" in note]) == 1


def test_averages_keep_the_scatter_of_groups():
    noise = np.random.default_rng(5).normal(size=(2, 16))
    runs = [
        dataclasses.replace(samples(seed=i, blocks=20), scatter={"energy": 0.01 * row})
        for i, row in enumerate(noise - noise.mean(axis=1, keepdims=True))
    ]
    mean = average_runs(runs, weights=[3, 1])
    residuals = 0.75 * runs[0].scatter["energy"] + 0.25 * runs[1].scatter["energy"]
    np.testing.assert_allclose(mean.scatter["energy"], residuals, rtol=1e-12)
    assert mean.estimate().groups == 16
    # A run that settled later leaves 10 of 20 blocks to the average, and √2 of the scatter.
    later = average_runs([runs[0], dataclasses.replace(runs[1], start=10)], weights=[1, 0])
    np.testing.assert_allclose(
        later.scatter["energy"], math.sqrt(2) * runs[0].scatter["energy"], rtol=1e-12
    )
    fewer = dataclasses.replace(runs[1], scatter={"energy": np.ones(8)})
    assert average_runs([runs[0], fewer]).scatter == {}


def test_runs_that_do_not_fit():
    a, b = samples(), samples(blocks=32)
    with pytest.raises(checks.InputError, match=r"runs\.1: must have the blocks"):
        average_runs([a, b])
    with pytest.raises(checks.InputError, match=r"runs\.1: must have the units"):
        average_runs([a, dataclasses.replace(samples(), units="hartree")])
    with pytest.raises(checks.InputError, match="weights: must be positive"):
        average_runs([a, samples()], weights=[1, -1])
    with pytest.raises(checks.InputError, match="same structure_factor"):
        average_runs([samples(structure=structure(0.3, 0.0)), a])


def test_a_crystal_needs_fluctuations_alone():
    cell = np.diag([4.0, 4.0, 4.0])
    crystal = Crystal(cell, [Nucleus(1, [0, 0, 0]), Nucleus(1, [0, 0, 1.4])], (1, 1))
    found = structure(0.3, 0.1, 0.01)
    with pytest.raises(checks.InputError, match=r"StructureFactor\(subtract_mean=True\)"):
        finite_size(samples(structure=found, divisor=1), crystal)
    told = finite_size(
        samples(structure=found | {"subtract_mean": np.ones(())}, divisor=1), crystal
    )
    assert "1/α₀ = 0 as in a metal" in str(told)
