"""Collocation for the Dirac equation: orders, unitarity, assembled matrix, failure, resuming."""

from __future__ import annotations

import re
import shutil
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse.linalg

import zitter as zt
from systems.kronecker import assembled
from zitter.bases.edges import ConvergenceWarning
from zitter.bases.spinor import implicit
from zitter.bases.spinor.levels import SpinorLevels, levels_of
from zitter.linalg.bicgstab import bicgstab
from zitter.propagators.gauss_collocation import rule_of

RADIAL = zt.RadialBSplines(18, 6, 5.0)
PULSE = zt.SineSquared(
    amplitude=600.0, frequency=50.0, cycles=2, phase_origin="start", cep=np.pi, polarization="x"
)
END = float(PULSE.duration)
pytestmark = [
    pytest.mark.filterwarnings("ignore:rmax"),
    pytest.mark.filterwarnings("ignore:.*too few for Z"),
]


def problem(lmax: int = 0, order: str = "kappa", kappa_max: int = 2):
    basis = zt.SpinorBasis(RADIAL, kappa_max, order=order)
    light = zt.DiracLight(PULSE, lmax)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1), light]), basis)
    state = np.zeros(basis.shape, complex)
    energies, vectors = zt.spinor_states(H.static, -1)
    state[basis.channel(-1, 0.5)] = vectors[:, np.searchsorted(energies, -(basis.c**2))]
    return H, jnp.asarray(state)


@pytest.fixture(scope="module")
def dipole():
    return problem()


def final(H, psi, steps, method):
    # One record interval for all: a program compiled for it serves every number of steps.
    return zt.evolve(H, psi, (0.0, END), END / steps, method, save_every=10).final


@pytest.fixture(scope="module")
def reference(dipole):
    return final(*dipole, 70, zt.GaussCollocation(5, 1e-13))


@pytest.mark.parametrize(("points", "steps"), [(1, 200), (3, 50)])
def test_order(dipole, reference, points, steps):
    """The error falls as Δt^{2s} although 2c²Δt is 24 to 190: positrons stay virtual.

    Order 2 is Crank–Nicolson. Errors end far above what BiCGSTAB leaves (1e-13 for each step).
    """
    H, psi = dipole
    method = zt.CrankNicolson(1e-13) if points == 1 else zt.GaussCollocation(points, 1e-13)
    errors = [float(H.basis.norm(final(H, psi, steps * k, method) - reference)) for k in (1, 2)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2 * points, abs=0.3)
    assert errors[1] < 3e-4


def test_one_step_solves_the_assembled_equations():
    """(S + iτ/2 H)ψ⁺ = (S − iτ/2 H)ψ at the midpoint, with light in all its components."""
    H, psi = problem(lmax=3)
    tau, start = 2e-3, 0.3 * END
    rng = np.random.default_rng(0)
    levels = SpinorLevels(H.fixed, H.basis)
    noise = rng.normal(size=(2, *H.shape))
    # Unknowns that the basis holds at zero stay so.
    psi = psi + 0.1 * levels.to_splines(levels.project(jnp.asarray(noise[0] + 1j * noise[1])))
    matrix = assembled(H.at(start + tau / 2).operator)
    overlap = np.asarray(jax.vmap(H.basis.overlap)(jnp.eye(psi.size).reshape(-1, *H.shape)))
    overlap = overlap.reshape(psi.size, psi.size).T
    right = overlap @ np.ravel(psi) - 0.5j * tau * (matrix @ np.ravel(psi))
    expected = np.linalg.solve(overlap + 0.5j * tau * matrix.toarray(), right)
    found = zt.evolve(H, psi, (start, start + tau), tau, zt.CrankNicolson(1e-14)).final
    error = float(H.basis.norm(found - jnp.asarray(expected).reshape(H.shape)))
    assert error < 1e-11 * float(H.basis.norm(psi))


@pytest.mark.slow
def test_the_norm_is_kept_and_channels_may_be_packed_either_way():
    """Norm in the metric to 1e-10 over a pulse; both orders of the channels give one result."""
    weights = []
    for order in ("kappa", "mu"):
        H, psi = problem(lmax=3, order=order)
        run = zt.evolve(
            H, psi, (0.0, END), END / 50, zt.GaussCollocation(3),
            observables=[zt.Norm(), zt.KappaPopulations(), zt.Momentum()],
        )  # fmt: skip
        assert np.abs(run.observables["norm"] - 1).max() < 1e-10
        assert run.info["residual"] <= 1e-12 and run.info["products"] > 2 * run.info["steps"]
        weights.append([run.observables[k][-1] for k in ("kappa_populations", "momentum")])
    for first, second in zip(*weights, strict=True):
        np.testing.assert_allclose(first, second, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("points", "most", "steps"), [(1, 4, 120), pytest.param(3, 6, 40, marks=pytest.mark.slow)]
)
def test_not_converged_stops_keeps_a_state_and_names_a_step(tmp_path, dipole, points, most, steps):
    H, psi = dipole
    method = zt.GaussCollocation(points, most_iterations=most)
    folder = tmp_path / "checkpoint"
    with pytest.raises(zt.RunError, match="BiCGSTAB did not reach") as failure:
        # The pulse begins slowly, so the first records are still fine; no checkpoint is due.
        zt.evolve(
            H, psi, (0.0, END), END / steps, method, save_every=1,
            checkpoint=folder, checkpoint_every=1e9,
        )  # fmt: skip
    assert "steps is kept in" in str(failure.value) and (folder / "state.h5").exists()
    named = float(re.search(r"take dt = ([0-9.e+-]+)", str(failure.value))[1])
    # Not needlessly short: the longest that does is 0.26 and 0.65 of the step that failed.
    assert named > 0.1 * END / steps
    again = zt.evolve(H, psi, (0.0, END), named, method, save_every=1)
    assert again.info["residual"] <= 1e-12


def test_a_stopped_run_goes_on_to_the_same_numbers(tmp_path, dipole, monkeypatch):
    """To the same bits; and elsewhere, where eigenvectors may have other signs, to rounding."""
    H, psi = dipole
    method = zt.GaussCollocation(3, 1e-13)
    whole = zt.evolve(H, psi, (0.0, END), END / 120, method, save_every=10)

    stops = [True]

    class Stop(zt.Observable):
        every: int = 4
        name: ClassVar[str] = "stop"
        long_name: ClassVar[str] = "raises"
        units: ClassVar[str] = "1"

        @property
        def on_host(self):
            return True

        def evaluate(self, H, psi, t):
            if stops and t > 0.4 * END:
                raise KeyboardInterrupt
            return 0.0

    options = {
        "observables": [Stop()],
        "save_every": 10,
        "checkpoint": tmp_path,
        "checkpoint_every": 0.0,
    }
    with pytest.raises(KeyboardInterrupt):
        zt.evolve(H, psi, (0.0, END), END / 120, method, **options)
    assert (tmp_path / "state.h5").exists()
    stops.clear()
    elsewhere = shutil.copytree(tmp_path, tmp_path / "elsewhere")
    resumed = zt.evolve(H, psi, (0.0, END), END / 120, method, resume=True, **options)
    np.testing.assert_array_equal(resumed.final, whole.final)

    def turned(*arguments):
        levels = levels_of(*arguments)
        return eqx.tree_at(lambda x: x.vectors, levels, tuple(-v for v in levels.vectors))

    monkeypatch.setattr(implicit, "levels_of", turned)
    options["checkpoint"] = elsewhere
    other = zt.evolve(H, psi, (0.0, END), END / 120, method, resume=True, **options)
    assert float(H.basis.norm(other.final - whole.final)) < 1e-10


@pytest.mark.slow
def test_single_precision(dipole):
    """float32 rounds H₀, whose elements are of size 2c², so levels move by 2c²ε = 2e-3 hartree.

    Over T = 0.25 that is a phase of 6e-4.
    """
    H, psi = dipole
    found = final(H, psi.astype(jnp.complex64), 50, zt.GaussCollocation(3))
    assert found.dtype == jnp.complex64
    exact = final(H, psi, 50, zt.GaussCollocation(3, 1e-13))
    assert float(H.basis.norm(found - exact)) < 1e-3


@pytest.mark.slow
def test_levels_diagonalize_and_agree_with_each_kappa():
    H, _ = problem(kappa_max=6)
    basis, levels = H.basis, SpinorLevels(H.fixed, H.basis)
    for place, kappa in enumerate(basis.distinct_kappas):
        energies, _ = zt.spinor_states(H.static, int(kappa))
        found = np.asarray(levels.energies[place, : levels.sizes[place]])
        np.testing.assert_allclose(found, energies, rtol=1e-11, atol=1e-9)
    rng = np.random.default_rng(1)
    rows = levels.project(jnp.asarray(rng.normal(size=basis.shape) + 1j))
    back = levels.from_splines(levels.to_splines(rows))
    np.testing.assert_allclose(back, rows, rtol=0, atol=1e-11 * float(jnp.abs(rows).max()))
    image = levels.project(H.fixed.apply(levels.to_splines(rows)))
    scale = float(jnp.abs(image).max())
    exact = levels.per_channel(levels.energies) * rows
    np.testing.assert_allclose(image, exact, rtol=0, atol=1e-12 * scale)


def test_bicgstab_on_a_random_matrix():
    rng = np.random.default_rng(2)
    matrix = np.eye(60) + 0.04 * (rng.normal(size=(60, 60)) + 1j * rng.normal(size=(60, 60)))
    rhs = rng.normal(size=60) + 1j * rng.normal(size=60)
    solved = bicgstab(
        lambda x: jnp.asarray(matrix) @ x, jnp.asarray(rhs), jnp.zeros(60) + 0j, 1e-12, 60
    )
    np.testing.assert_allclose(solved.x, np.linalg.solve(matrix, rhs), rtol=0, atol=1e-10)
    assert 2 < solved.iterations < 40 and solved.residual <= 1e-12
    # SciPy's, with as many products, ends at the same place.
    other, _ = scipy.sparse.linalg.bicgstab(matrix, rhs, rtol=1e-12, atol=0)
    np.testing.assert_allclose(solved.x, other, rtol=0, atol=1e-9)


def test_refusals():
    grid = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), zt.Grid(31, 0.3))
    with pytest.raises(zt.Unsupported, match=r"GaussCollocation cannot treat .* no banded matrix"):
        zt.evolve(grid, np.ones(31, complex), (0, 1), 0.1, zt.GaussCollocation())
    with pytest.raises(zt.InputError, match="points: must be one of 1, 3, 5, 7, but is 2"):
        zt.GaussCollocation(2)


def test_many_steps_in_single_precision_are_warned_of():
    """A line loses 1e-3 of the norm in 400 steps."""
    H = zt.discretize(zt.Model([zt.Kinetic(order=4), zt.SoftCoulomb()]), zt.Grid(31, 0.5))
    with pytest.warns(ConvergenceWarning, match="in single precision 4000 steps .* lose 1.1e-02"):
        zt.solve.prepare(H, np.complex64, (0.0, 40.0), 0.01, zt.GaussCollocation())


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_the_coefficients_are_gausss(stages):
    """a_ij is the integral of Lagrange's polynomial j up to node i, by another quadrature."""
    rule = rule_of(stages)
    x, w = np.polynomial.legendre.leggauss(8)
    for i, end in enumerate(rule.nodes):
        at = 0.5 * end * (x + 1)
        for j, node in enumerate(rule.nodes):
            others = np.delete(rule.nodes, j)
            values = np.prod((at[:, None] - others) / (node - others), axis=1)
            assert rule.matrix[i, j] == pytest.approx(0.5 * end * w @ values, abs=1e-14)
    if stages == 2:
        off = np.sqrt(3) / 6
        np.testing.assert_allclose(rule.matrix, [[0.25, 0.25 - off], [0.25 + off, 0.25]])
