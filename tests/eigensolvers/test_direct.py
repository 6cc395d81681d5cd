"""Direct diagonalization: dense and banded, order, residuals, refusals."""

from __future__ import annotations

import jax
import numpy as np
import pytest
import scipy.linalg

import zitter as zt
from marks import slow


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_banded_and_dense_agree(order):
    """The same matrix through LAPACK's banded and dense drivers."""
    H = zt.discretize(zt.Model([zt.Kinetic(order=order), zt.SoftCoulomb()]), zt.Grid(120, 0.4))
    banded, dense = zt.eigenstates(H, 3), zt.eigenstates(H.dense(), 3)
    assert "banded" in banded.info["solver"] and "dense" in dense.info["solver"]
    np.testing.assert_allclose(banded.energies, dense.energies, atol=1e-12)
    overlaps = np.abs(np.asarray(banded.states) @ np.asarray(dense.states).T) * 0.4
    np.testing.assert_allclose(overlaps, np.eye(3), atol=1e-10)


def test_states_are_orthonormal_and_residuals_small():
    grid = zt.Grid((18, 16), 0.6)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic([1.0, 1.3])]), grid)
    found = zt.eigenstates(H, 5)
    gram = np.array([[complex(grid.inner(a, b)) for a in found.states] for b in found.states])
    np.testing.assert_allclose(gram, np.eye(5), atol=1e-12)
    assert max(found.residuals) < 1e-11
    assert np.all(np.diff(found.energies) >= 0)


def test_refusals():
    grid = zt.Grid(20, 0.5)
    open_ = zt.discretize(zt.Model([zt.Kinetic(), zt.ComplexAbsorber(2.0)]), grid)
    with pytest.raises(zt.Unsupported, match=r"H\.static"):
        zt.eigenstates(open_, 1, solver=zt.Direct())
    pulse = zt.SineSquared(amplitude=0.1, frequency=1.0, cycles=1)
    driven = zt.discretize(zt.Model([zt.Kinetic(), zt.LengthGauge(pulse)]), grid)
    with pytest.raises(zt.Unsupported, match=r"depends on time"):
        zt.eigenstates(driven, 1, solver=zt.Direct())
    with pytest.raises(zt.InputError, match="n: must be at most 20"):
        zt.eigenstates(driven.static, 21)


def hydrogen(*light):
    splines = zt.RadialBSplines(70, 7, 80.0, "graded", first=0.3)
    model = zt.Model([zt.Kinetic(), zt.Coulomb(Z=1), *light])
    return zt.discretize(model, zt.SphericalBasis(splines, 2))


def stark():
    return hydrogen(zt.LengthGauge(zt.Static(amplitude=1e-4, ramp=1.0))).at(2.0)


def well(order, *shape, boundary="zero"):
    model = zt.Model([zt.Kinetic(order=order), zt.Harmonic(1.0)])
    return zt.discretize(model, zt.Grid(shape, 0.6, boundary))


def moving():
    pulse = zt.Static(amplitude=0.3, ramp=1.0)
    model = zt.Model([zt.Kinetic(order=4), zt.Harmonic(1.0), zt.VelocityGauge(pulse)])
    return zt.discretize(model, zt.Grid((12, 11), 0.6)).at(2.0)


@pytest.mark.parametrize(
    ("make", "n", "near"),
    [
        (lambda: well(4, 150), 4, 10.2),
        (lambda: zt.discretize(zt.Model([zt.Kinetic(order=2)]), zt.Grid(101, 1.0)), 3, 1.0),
        (lambda: well(2, 8, 8, 8), 6, 3.4),
        (lambda: well(6, 10, 11, boundary="periodic"), 5, 4.1),
        (lambda: well("spectral", 11, 10), 3, 5.1),
        (moving, 4, 5.0),
        slow(hydrogen, 6, -0.05),
        slow(stark, 4, -0.12),
    ],
    ids=["line", "singular", "degenerate", "periodic", "spectral", "complex", "hydrogen", "stark"],
)
@pytest.mark.filterwarnings("ignore::zitter.eigensolvers.errors.BoxWarning")
def test_states_nearest_to_an_energy(make, n, near):
    """Interior states by shift-invert against all states; degenerate levels come whole."""
    H = make()
    size = H.basis.size
    metric = jax.vmap(H.basis.overlap)(np.eye(size).reshape(size, *H.shape)).reshape(size, size)
    every = scipy.linalg.eigvalsh(H.as_matrix(), metric)
    expected = np.sort(every[np.argsort(np.abs(every - near))[:n]])
    found = zt.eigenstates(H, n, zt.Direct(near=near))
    # LAPACK and ARPACK are both exact to a few eps·‖H‖, with ‖H‖ below 1e4.
    np.testing.assert_allclose(found.energies, expected, atol=1e-11)
    assert max(found.residuals) < 1e-10
    states = np.asarray(found.states).reshape(n, -1)
    images = np.asarray(jax.vmap(H.basis.overlap)(found.states)).reshape(n, -1)
    volume = getattr(H.basis, "volume", 1.0)
    np.testing.assert_allclose(states.conj() @ images.T * volume, np.eye(n), atol=1e-10)


def test_spinors_nearest_to_an_energy():
    """The 2p₁/₂ and 2s₁/₂ of hydrogen lie together, the positrons below −2c²."""
    basis = zt.SpinorBasis(zt.RadialBSplines(40, 7, 40.0, "graded", first=0.3), 2)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), basis)
    lowest = zt.eigenstates(H, 10)
    found = zt.eigenstates(H, 8, zt.Direct(near=-0.13))
    np.testing.assert_allclose(found.energies, lowest.energies[2:], atol=1e-9)
    assert zt.eigenstates(H, 1, zt.Direct(near=-2.0 * 137.0**2)).energies[0] < -(137.0**2)


@pytest.mark.parametrize("solver", [zt.Direct(), zt.Direct(near=1.0)])
def test_states_without_kinetic_energy_have_norm_one(solver):
    """A potential alone is diagonal; its states are points, of norm one in the metric of the grid.

    Σ|φ|²h with h = 0.4: a column of length one would have 0.4.
    """
    grid = zt.Grid(20, 0.4)
    H = zt.discretize(zt.Model([zt.Harmonic(1.0)]), grid)
    found = zt.eigenstates(H, 3, solver)
    norms = np.sum(np.abs(found.states) ** 2, axis=1) * 0.4
    np.testing.assert_allclose(norms, 1.0, rtol=1e-14)
    values, near = 0.5 * grid.points(0) ** 2, solver.near or 0.0
    expected = np.sort(np.abs(values - near))[:3]
    np.testing.assert_allclose(np.sort(np.abs(found.energies - near)), expected, atol=1e-12)
