"""LOBPCG and the Chebyshev filter against LAPACK and exact levels."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from marks import slow
from zitter.eigensolvers import block

# Small boxes compile and solve fast; that their walls are felt does not matter here.
pytestmark = pytest.mark.filterwarnings("ignore::zitter.eigensolvers.errors.BoxWarning")

COUPLED = zt.Potential(expression="0.5*(x**2 + y**2 + z**2) + 2*x**2*y**2 + x*y + 0.3*x*z")


def hamiltonian(order: Any = "spectral", n=10) -> Any:
    grid = zt.Grid((n, n, n + 1), 0.6)
    return zt.discretize(zt.Model([zt.Kinetic(order=order), COUPLED]), grid)


@pytest.mark.parametrize(
    ("solver", "order"),
    [(zt.LOBPCG(tol=1e-9), "spectral"), (zt.LOBPCG(tol=1e-9), 4)]
    + [(zt.ChebyshevFilter(tol=1e-9), "spectral")],
    ids=["lobpcg", "lobpcg-stencil", "chebyshev"],
)
def test_equals_lapack(solver, order):
    H = hamiltonian(order)
    exact = zt.eigenstates(H, 5, zt.Direct())
    found = zt.eigenstates(H, 5, solver)
    # Residuals r ≤ 1e-9 and gaps of 0.1: the energies agree to rounding, a few eps·‖H‖ = 1e-13.
    np.testing.assert_allclose(found.energies, exact.energies, atol=1e-12, rtol=0)
    assert np.all(found.residuals <= 1.01e-9)
    overlap = np.asarray(jnp.einsum("axyz,bxyz->ab", found.states, exact.states)) * H.basis.volume
    np.testing.assert_allclose(np.abs(overlap), np.eye(5), atol=1e-7)


DEEP = zt.Potential(expression="-100*exp(-(x**2 + y**2 + z**2)/0.02)")


@pytest.fixture(scope="module")
def deep():
    """H with one bound state, and its lowest energies."""
    H = zt.discretize(zt.Model([zt.Kinetic(order=2), DEEP]), zt.Grid((15,) * 3, 0.3))
    return H, zt.eigenstates(H, 3, zt.Direct()).energies


@pytest.mark.parametrize(
    "solver",
    [zt.ChebyshevFilter(tol=1e-7), slow(zt.ChebyshevFilter(tol=1e-7, degree=300))]
    + [slow(zt.ImaginaryTime(tol=1e-4)), zt.LOBPCG()],
    ids=["chebyshev", "high degree", "imaginary time", "lobpcg"],
)
def test_a_level_far_below_the_others_does_not_drown_them(solver, deep):
    """One bound state, all others above zero: what is filtered must not all become the first."""
    H, exact = deep
    found = zt.eigenstates(H, 3, solver)
    np.testing.assert_allclose(found.energies, exact, atol=1e-7, rtol=0)
    overlap = np.asarray(jnp.einsum("axyz,bxyz->ab", found.states, found.states)) * H.basis.volume
    np.testing.assert_allclose(overlap, np.eye(3), atol=1e-10)


def test_states_given_twice_are_not_found_twice():
    H = hamiltonian()
    exact = zt.eigenstates(H, 3, zt.Direct())
    for solver in (zt.LOBPCG(tol=1e-9), zt.ChebyshevFilter(tol=1e-9)):
        energies, _, _ = solver.solve(H, 3, jnp.stack([exact.states[0]] * 3))
        np.testing.assert_allclose(energies, exact.energies, atol=1e-12, rtol=0)


def test_periodic_grid():
    """Plane waves: the kinetic energy as a circulant matrix in the preconditioner."""
    grid = zt.Grid((12, 10), 0.5, "periodic")
    well = zt.Potential(lambda x, y: -2 * jnp.cos(2 * jnp.pi * x / 6) - jnp.cos(2 * jnp.pi * y / 5))
    H = zt.discretize(zt.Model([zt.Kinetic(), well]), grid)
    exact = zt.eigenstates(H, 3, zt.Direct())
    found = zt.eigenstates(H, 3, zt.LOBPCG(tol=1e-10))
    np.testing.assert_allclose(found.energies, exact.energies, atol=1e-12, rtol=0)


def test_degenerate_levels_come_whole():
    """Harmonic levels n + 3/2 with (n+1)(n+2)/2 states each: 1, 3, 6."""
    H: Any = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), zt.Grid((26,) * 3, 0.5))
    found = zt.eigenstates(H, 10, zt.LOBPCG(tol=1e-8))
    expected = np.array([1.5] + [2.5] * 3 + [3.5] * 6)
    # Sines at h = 0.5 resolve k up to 6.3: the Gaussian tail e^{−k²/2} there is 1e-9.
    np.testing.assert_allclose(found.energies, expected, atol=1e-7)
    gram = np.asarray(jnp.einsum("axyz,bxyz->ab", found.states, found.states)) * H.basis.volume
    np.testing.assert_allclose(gram, np.eye(10), atol=1e-10)


def test_the_preconditioner_makes_it_fast():
    """A separable H is inverted exactly: one iteration. A coupled one takes few."""
    separable = zt.Model([zt.Kinetic(), zt.Harmonic(1.0)])
    H = zt.discretize(separable, hamiltonian().basis)
    assert zt.eigenstates(H, 5, zt.LOBPCG(tol=1e-9)).info["iterations"] <= 2
    assert zt.eigenstates(hamiltonian(), 5, zt.LOBPCG(tol=1e-9)).info["iterations"] <= 20


def test_runs_repeat_to_the_bit():
    H = hamiltonian()
    first, second = (zt.eigenstates(H, 2, zt.LOBPCG()) for _ in range(2))
    assert np.array_equal(first.energies, second.energies)
    assert np.array_equal(np.asarray(first.states), np.asarray(second.states))


def test_single_precision():
    zt.configure(precision="single")
    try:
        found = zt.eigenstates(hamiltonian(), 2, zt.LOBPCG(tol=1e-9))
        assert found.states.dtype == jnp.float32
    finally:
        zt.configure(precision="double")
    exact = zt.eigenstates(hamiltonian(), 2, zt.Direct())
    # tol is raised to the rounding of float32, 4·1.2e-7·‖H‖ ≈ 5e-5.
    np.testing.assert_allclose(found.energies, exact.energies, atol=2e-5)
    assert np.all(found.residuals < 2e-4)


def test_complex_hamiltonian():
    """Two terms that do not commute with complex conjugation: a frozen velocity-gauge coupling."""
    pulse = zt.SineSquared(intensity=1e14 / 3.50944552773e16, wavelength=800.0, cycles=2)
    model = zt.Model([zt.Kinetic(), zt.Harmonic((1.0, 1.3)), zt.VelocityGauge(pulse)])
    H = zt.discretize(model, zt.Grid((16, 15), 0.5)).at(0.4 * pulse.duration)
    exact = zt.eigenstates(H, 3, zt.Direct())
    found = zt.eigenstates(H, 3, zt.LOBPCG(tol=1e-9))
    np.testing.assert_allclose(found.energies, exact.energies, atol=1e-12, rtol=0)


def test_failure_names_the_remedy():
    with pytest.raises(zt.RunError, match=r"max_iterations = 2 with a residual of .* tol"):
        zt.eigenstates(hamiltonian(), 2, zt.LOBPCG(tol=1e-12, max_iterations=2))


@pytest.mark.parametrize(
    ("grid", "kinetic", "kind"),
    [
        (zt.Grid(4000, 0.05), [zt.Kinetic(order=4)], zt.Direct),
        (zt.Grid(9000, 0.05), [zt.Kinetic(order=4)], zt.Direct),
        (zt.Grid(9000, 0.05), [zt.Kinetic()], zt.ChebyshevFilter),
        (zt.Grid((8, 8, 8), 0.5), [zt.Kinetic(order=4)], zt.Direct),
        (zt.Grid((16, 16, 16), 0.5), [zt.Kinetic(order=4)], zt.LOBPCG),
        (zt.Grid((32, 32, 32), 0.5), [], zt.Direct),
        (zt.Grid((64, 64), 0.5), [zt.Kinetic(order=4)], zt.LOBPCG),
    ],
)
def test_recommended_solver(grid, kinetic, kind):
    from zitter.eigensolvers import recommended

    H = zt.discretize(zt.Model([*kinetic, zt.Harmonic(1.0)]), grid)
    assert isinstance(recommended(H, 2), kind)


@pytest.mark.parametrize("length", [1, 97, 127 * 1031, 3 * 2**15])
def test_inner_products_in_pieces_are_those_in_one(length):
    """Also of lengths that few numbers divide."""
    rng = np.random.default_rng(1)
    bra, ket = (
        rng.standard_normal((n, length)) + 1j * rng.standard_normal((n, length)) for n in (3, 5)
    )
    found = block.gram(jnp.asarray(bra), jnp.asarray(ket))
    assert np.allclose(found, bra.conj() @ ket.T, rtol=0, atol=1e-12 * length)
    if length > 2**16:  # a product as a whole would copy all of a block
        steps = str(jax.make_jaxpr(block.gram)(jnp.asarray(bra), jnp.asarray(ket)))
        pieces = length // block.LEAST_PIECE
        assert f"slice_sizes=(5, {length // pieces})" in steps
