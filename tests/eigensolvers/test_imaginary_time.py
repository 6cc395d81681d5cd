"""The paper's explicit update: its formula, its stability limit, its stopping rule, and better."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter.eigensolvers.imaginary_time import Update


def oscillator(n=24, h=0.4) -> Any:
    return zt.discretize(zt.Model([zt.Kinetic(order=2), zt.Harmonic(1.0)]), zt.Grid((n,) * 3, h))


def update_by_hand(psi, potential, h, dtau):
    """Eq. 10–12 with m = 1, written out."""
    b = (2 - dtau * potential) / (2 + dtau * potential)
    c = dtau / (h**2 * (2 + dtau * potential))
    p = np.pad(psi, 1)
    around = sum(np.roll(p, s, axis) for axis in range(3) for s in (1, -1)) - 6 * p
    return b * psi + c * around[1:-1, 1:-1, 1:-1]


def test_update_is_the_papers():
    H, dtau = oscillator(10), 0.03
    psi = np.random.default_rng(0).normal(size=H.shape)
    potential = np.asarray(0.5 * sum(x**2 for x in H.basis.coordinates()))
    expected = update_by_hand(update_by_hand(psi, potential, 0.4, dtau), potential, 0.4, dtau)
    found = Update.of(H, dtau).apply(jnp.asarray(psi), jnp.zeros(()), 2)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


def test_other_kinetic_energies_take_the_same_update():
    """Fourth-order differences through the general path; for order 2 both paths agree."""
    H = oscillator(10)
    fast = Update.of(H, 0.03)
    slow = Update(fast.potential, None, fast.kinetic, fast.dtau)
    psi = jnp.asarray(np.random.default_rng(1).normal(size=H.shape))
    expected = slow.apply(psi, jnp.zeros(()), 4)
    np.testing.assert_allclose(fast.apply(psi, jnp.zeros(()), 4), expected, rtol=0, atol=1e-13)


def test_all_states_have_to_converge():
    """The first is found long before the third."""
    well = zt.Model([zt.Kinetic(order=2), zt.Harmonic(1.0)])
    H = zt.discretize(well, zt.Grid(48, 0.3))
    found = zt.eigenstates(H, 3, zt.ImaginaryTime(tol=1e-6))
    exact = zt.eigenstates(H, 3, zt.Direct())
    assert np.all(found.residuals < 1.01e-6)
    np.testing.assert_allclose(found.energies, exact.energies, atol=1e-10)


@pytest.mark.slow
def test_lattice_levels_with_degeneracy():
    """Second-order differences: each axis has levels close to n + 1/2 − h²(2n²+2n+1)/32."""
    found = zt.eigenstates(oscillator(), 4, zt.ImaginaryTime(tol=1e-6))
    ground = 3 * (0.5 - 0.4**2 / 32)
    excited = ground + 1 - 0.4**2 * 4 / 32
    # The next term of the expansion is of order h⁴/40.
    np.testing.assert_allclose(found.energies, [ground] + 3 * [excited], atol=0.4**4 / 40)
    assert np.all(found.residuals < 1.01e-6)
    exact = zt.eigenstates(oscillator(), 4, zt.LOBPCG(tol=1e-9))
    np.testing.assert_allclose(found.energies, exact.energies, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "solver",
    [zt.ImaginaryTime(), zt.ImaginaryTime(check_every=1000, coarse_levels=1)],
    ids=["plain", "coarse"],
)
def test_excited_states_of_any_parity(solver):
    """Waves of the box keep their parity under H: the second state may have none of theirs.

    1000 updates in a row would turn every state into the lowest; the block is set right before.
    """
    well = zt.Model([zt.Kinetic(order=2), zt.Harmonic([1.0, 2.0, 3.0])])
    H = zt.discretize(well, zt.Grid((24, 20, 18), (0.4, 0.35, 0.3)))
    exact = zt.eigenstates(H, 2, zt.LOBPCG(tol=1e-9))
    found = zt.eigenstates(H, 2, solver)
    assert found.states.shape == (2, *H.shape) and found.info["updates"] < 1000
    assert np.all(found.residuals < 1.01 * solver.tol)
    np.testing.assert_allclose(found.energies, exact.energies, atol=1e-9)


def test_the_papers_rule_ends_before_the_state_is_found():
    """Without the shift the residual stays near δτE/2·‖(V − ⟨V⟩)ψ‖, ‖…‖ = 0.61 for a Gaussian."""
    dtau = 0.02
    found = zt.eigenstates(oscillator(), 1, zt.ImaginaryTime(dtau, 1e-9, "energy", False))
    assert found.residuals[0] == pytest.approx(dtau * 0.75 * 0.61, rel=0.15)
    exact = zt.eigenstates(oscillator(), 1, zt.LOBPCG(tol=1e-9)).energies[0]
    # The energy is wrong in second order only: (δτE/2)² = 2e-4 times a curvature below one.
    assert 0 < found.energies[0] - exact < 2e-4
    assert zt.eigenstates(oscillator(), 1, zt.ImaginaryTime(dtau, 1e-6)).residuals[0] < 1.01e-6


def test_what_did_not_converge_is_told_by_its_own_rule():
    H = oscillator()
    with pytest.raises(zt.RunError, match=r"max_updates = 10 with the energy changing by .* per"):
        zt.eigenstates(H, 1, zt.ImaginaryTime(tol=1e-14, stop="energy", max_updates=10))
    with pytest.raises(zt.RunError, match="max_updates = 10 with a residual of"):
        zt.eigenstates(H, 1, zt.ImaginaryTime(max_updates=10))


@pytest.mark.parametrize("n", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_several_states_in_single_precision(n):
    zt.configure(precision="single")
    try:
        found = zt.eigenstates(oscillator(), n, zt.ImaginaryTime(tol=1e-6))  # below rounding
    finally:
        zt.configure(precision="double")
    exact = zt.eigenstates(oscillator(), n).energies
    np.testing.assert_allclose(found.energies, exact, atol=2e-5)


def test_a_start_far_above_the_ground_state_does_not_overflow():
    """Counted from an energy of 30 hartree ψ grows 1.9-fold at each update where V is lowest."""
    well = zt.Potential(expression="0.5*(x**2 + y**2) + 0.1*x**4")
    H = zt.discretize(zt.Model([zt.Kinetic(order=2), well]), zt.Grid((32, 32), 0.35))
    zt.configure(precision="single")
    try:
        found = zt.eigenstates(H, 1, zt.ImaginaryTime(dtau=0.02, tol=1e-4))
    finally:
        zt.configure(precision="double")
    exact = zt.eigenstates(H, 1, zt.Direct()).energies
    np.testing.assert_allclose(found.energies, exact, atol=2e-5)


def test_coarse_grids_save_updates():
    direct = zt.eigenstates(oscillator(), 1, zt.ImaginaryTime(tol=1e-5, check_every=10))
    coarse = zt.eigenstates(
        oscillator(), 1, zt.ImaginaryTime(tol=1e-5, check_every=10, coarse_levels=1)
    )
    assert coarse.energies[0] == pytest.approx(direct.energies[0], abs=1e-9)
    assert coarse.info["updates"] < 0.85 * direct.info["updates"]


def test_prolongation_and_coarse_hamiltonian():
    H = oscillator(31, 0.3)
    coarse, operator, prolong = H.basis.coarser(H.operator)
    assert coarse.shape == operator.shape == (15, 15, 15)
    assert coarse.spacing[0] == pytest.approx(0.6)
    box = coarse.sample(lambda x, y, z: (4.8 - abs(x)) * (4.8 - abs(y)) * (4.8 - abs(z)))
    fine = H.basis.sample(lambda x, y, z: (4.8 - abs(x)) * (4.8 - abs(y)) * (4.8 - abs(z)))
    # Linear interpolation is exact for a roof whose ridge is a grid point.
    np.testing.assert_allclose(prolong(box[None])[0], fine, atol=1e-11)


@pytest.mark.parametrize(
    ("dtau", "text"),
    [(0.0534, "dtau: must be below the stability limit 2/max T = 0.05333"), (-1.0, "positive")],
)
def test_time_step_is_judged(dtau, text):
    """δτ < a²/3 = 0.0533 for a = 0.4."""
    with pytest.raises(zt.InputError, match=text):
        zt.eigenstates(oscillator(), 1, zt.ImaginaryTime(dtau=dtau))


def test_deep_wells_limit_the_step():
    well = zt.Potential(expression="-100*exp(-(x**2 + y**2 + z**2))")
    H = zt.discretize(zt.Model([zt.Kinetic(order=2), well]), zt.Grid((11,) * 3, 0.4))
    with pytest.raises(zt.InputError, match=r"dtau: must be below 2/\|V\| = 0.02 .* but is 0.03"):
        zt.eigenstates(H, 1, zt.ImaginaryTime(dtau=0.03))


def test_periodic_boxes_and_absorbers_are_told_apart():
    H = zt.discretize(
        zt.Model([zt.Kinetic(), zt.Harmonic(1.0), zt.ComplexAbsorber(1.0)]), zt.Grid((8, 8), 0.6)
    )
    with pytest.raises(zt.Unsupported, match="Hermitian"):
        zt.eigenstates(H, 1, zt.ImaginaryTime())
