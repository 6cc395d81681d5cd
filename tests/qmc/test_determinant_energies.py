"""Energies of expansions beside those of PySCF's CASSCF, and coefficients that are optimized."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from walker_programs import begin

from zitter.qmc import (
    Determinants,
    Electrons,
    ExternalPotential,
    GaussianBasis,
    Gaussians,
    GaussianShell,
    LinearMethod,
    Nucleus,
    Orbitals,
    SlaterJastrow,
    StochasticReconfiguration,
    VarianceMinimization,
    optimize,
    vmc,
)
from zitter.qmc.wavefunction import Seat

DATA = "tests/data/determinants.npz"  # see make_determinants.py there


def expansion(name: str, terms: Any = ()) -> tuple[Any, float, float]:
    """Ψ without Jastrow factor, the energy of CASSCF and that of Hartree–Fock."""
    with np.load(DATA) as file:
        kept = {key.removeprefix(f"{name}_"): file[key] for key in file if key.startswith(name)}
    tables = [kept[f"shell{b:02d}"] for b in range(len(kept["shells"]))]
    shells = [
        GaussianShell(int(center), int(l), table[:, 0], table[:, 1:])
        for (center, l), table in zip(kept["shells"], tables, strict=True)
    ]
    orbitals = Gaussians(GaussianBasis(kept["centers"], shells), kept["orbitals"])
    nuclei = [
        Nucleus(float(Z), r.tolist()) for Z, r in zip(kept["charges"], kept["centers"], strict=True)
    ]
    spins = (kept["up"].shape[1], kept["down"].shape[1])
    system = Electrons(spins, () if terms else nuclei, terms, length=1.0)
    given = Determinants(*(kept[key].tolist() for key in ("coefficients", "up", "down")))
    psi = SlaterJastrow(system, orbitals=orbitals, determinants=given)
    casscf, hartree_fock = kept["energies"].tolist()
    return psi, casscf, hartree_fock


@pytest.mark.slow
def test_stretched_hydrogen_has_the_energy_of_casscf():
    psi, casscf, hartree_fock = expansion("h2")
    out = vmc(psi, walkers=256, blocks=200, stride=4)
    assert out.energy_error < 0.003  # the two are 0.062 apart
    assert abs(out.energy - casscf) < 4 * out.energy_error
    assert hartree_fock - out.energy > 10 * out.energy_error


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [LinearMethod(3), StochasticReconfiguration(8), VarianceMinimization(3)]
)
def test_coefficients_are_found_again(method):
    """From Hartree–Fock on: c of σ_u² comes close to CASSCF's, and the energy falls."""
    psi, _, hartree_fock = expansion("h2")
    best = float(psi.parameters[0])
    found = optimize(psi.with_parameters(jnp.zeros(1)), method, walkers=256, draws=64)
    first, last = found.history[0], found.history[found.best]
    assert abs(first.energy - hartree_fock) < 5 * first.error
    # Without cusps the variance has no error to speak of: judged is what it leads to.
    assert last.energy < first.energy - 5 * first.error
    assert float(found.wavefunction.parameters[0]) == pytest.approx(best, abs=0.1)


def soft(r):
    """The potential of the valence electrons of Be, as in make_determinants.py."""
    square = jnp.sum(r**2, axis=0)
    screen, distance = jnp.exp(-0.6 * square), jnp.sqrt(square)
    return -2 / distance * (1 - screen) + 1.2 * screen


@pytest.mark.slow
def test_beryllium_has_the_energy_of_casscf():
    """2s² with 2p²: four determinants."""
    psi, casscf, hartree_fock = expansion("be", [ExternalPotential(soft)])
    assert psi.parameters.size == 3
    out = vmc(psi, walkers=256, blocks=200, stride=10)
    assert out.energy_error < 0.002  # the two are 0.031 apart
    assert abs(out.energy - casscf) < 4 * out.energy_error
    assert hartree_fock - out.energy > 10 * out.energy_error


class Oscillator(Orbitals):
    """x and 1, times e^{−r²/2}: states of energy 5/2 and 3/2."""

    count: int = eqx.field(static=True, default=2)
    is_complex: bool = eqx.field(static=True, default=False)

    def values(self, r, dtype=jnp.float64):
        return self.derivatives(r)[0]

    def derivatives(self, r, dtype=jnp.float64):
        square = jnp.sum(r**2, axis=0)
        size = jnp.exp(-square / 2)
        one, x = size, r[0] * size
        along = jnp.zeros_like(r).at[0].set(size)
        values = jnp.stack([x, one], axis=-1)
        slopes = jnp.stack([along - r * x, -r * one], axis=-1)
        return values, slopes, jnp.stack([(square - 5) * x, (square - 3) * one], axis=-1)


@pytest.fixture(scope="module")
def oscillator() -> Any:
    """(x + 0.8) e^{−r²/2} by the reference x, whose node is not that of Ψ."""
    well = ExternalPotential(lambda r: 0.5 * jnp.sum(r**2, axis=0))
    system = Electrons((1, 0), terms=[well], length=1.0)
    given = Determinants([1.0, 0.8], [[0], [1]])
    return SlaterJastrow(system, orbitals=Oscillator(), determinants=given)


def test_walkers_cross_the_nodes_of_the_reference(oscillator):
    out = vmc(oscillator, walkers=128, blocks=200, stride=4)
    weights = np.array([0.5, 0.8**2])  # norms of both parts
    exact = float(weights @ [2.5, 1.5] / weights.sum())
    assert abs(out.energy - exact) < 4 * out.energy_error
    assert out.energy_error < 0.01
    x = np.asarray(out.positions)[:, 0, 0]
    assert 0.2 < np.mean(x > 0) < 0.98
    assert out.info["determinant_drift"] < 1e-8


def test_a_vanishing_reference(oscillator):
    """Too near to its node no walker goes; near it, what was updated is computed anew."""
    psi, seat = oscillator, Seat(0, 0, 0)
    targets = jnp.asarray([[1e-9, 0.1, 0.2], [1e-6, 0.1, 0.2], [0.1, 0.1, 0.2]])

    @eqx.filter_jit
    def moved(psi, walkers):
        def body(carry, walkers, block):
            def one(walker, new):
                opened = psi.open(walker, block)
                ratio = psi.ratio(opened, seat, new, True)
                opened = psi.accept(opened, seat, new, ratio, jnp.isfinite(ratio.log))
                return ratio.log, psi.close(walker, opened, block)

            logs, walkers = jax.vmap(one)(walkers, targets)
            return (logs, walkers.slater.doubtful), walkers

        return psi.over_blocks(body, (jnp.zeros(3), jnp.zeros(3, bool)), walkers)

    (logs, doubtful), walkers = moved(psi, begin(psi, jnp.asarray([[[0.5], [0.1], [0.2]]] * 3)))
    np.testing.assert_array_equal(np.isfinite(logs), [False, True, True])
    np.testing.assert_array_equal(doubtful, [False, True, False])
    np.testing.assert_allclose(walkers.r[:, 0, 0], [0.5, 1e-6, 0.1])
    fresh: Any = begin(psi, walkers.r)
    np.testing.assert_allclose(walkers.log, fresh.log, rtol=1e-9)
    np.testing.assert_allclose(walkers.slater.X[1], fresh.slater.X[1], rtol=1e-14)
    np.testing.assert_allclose(walkers.slater.W, fresh.slater.W, rtol=1e-9)
