"""Ψ and its derivatives against automatic differentiation, moves against fresh evaluation."""

from __future__ import annotations

from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from walker_programs import begin, local_energies

from zitter import checks
from zitter.qmc import ElectronGas, P, SlaterJastrow, Trap, U
from zitter.qmc.walk.dynamics import DriftDiffusion, GaussianSteps
from zitter.qmc.walk.sweep import sweep

KEY = jax.random.PRNGKey(0)


def log_psi(psi, r):
    """ln Ψ (complex at a twist) from the positions alone."""
    sign, log = jnp.linalg.slogdet(psi.slater.matrix(r, jnp.float64))
    jastrow = psi.jastrow.derivatives(r)[0]
    return jnp.sum(log) + jastrow, jnp.sum(jnp.angle(sign))


@eqx.filter_jit
def oracle(psi, r):
    """−½∇²Ψ/Ψ (real part) by automatic differentiation of ln|Ψ| and the phase."""
    flat = r.ravel()
    value = lambda x: log_psi(psi, x.reshape(r.shape))[0]  # noqa: E731
    angle = lambda x: log_psi(psi, x.reshape(r.shape))[1]  # noqa: E731
    slope = jax.grad(value)
    second = lambda axis: jax.jvp(slope, (flat,), (axis,))[1] @ axis  # noqa: E731
    laplacian = jnp.sum(jax.lax.map(second, jnp.eye(flat.size)))
    return -0.5 * (laplacian + jnp.sum(slope(flat) ** 2)) + 0.5 * jnp.sum(
        jax.grad(angle)(flat) ** 2
    )


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="names of LAPACK's routines")
def test_matrices_are_factorized_once_for_determinant_and_inverse(any_psi):
    """Twice would cost as much again, and two batches at a time can stop a CPU for good
    (`linalg.inverses`)."""
    r = any_psi.system.start(KEY, 3)
    program = jax.jit(lambda r: jax.vmap(any_psi.start)(r)).lower(r).compile().as_text()
    assert program is not None
    assert program.count("getrf_ffi") == 1


def test_kinetic_energy_by_closed_forms(any_psi):
    r = any_psi.system.start(KEY, 3)
    kinetic = float(local_energies(any_psi, begin(any_psi, r))["kinetic"][0])
    expected = float(oracle(any_psi, r[0]))
    # Rounding grows with the condition of the Slater matrix, about 1e3 here.
    assert kinetic == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "dynamics", [GaussianSteps(0.5), DriftDiffusion(0.05)], ids=["gauss", "drift"]
)
def test_a_sweep_leaves_what_a_fresh_start_gives(any_psi, dynamics):
    walkers = begin(any_psi, any_psi.system.start(KEY, 3))
    dynamics = jax.tree.map(jnp.asarray, dynamics)
    moved, tally = eqx.filter_jit(sweep)(any_psi, dynamics, walkers, KEY)
    fresh = begin(any_psi, moved.r)
    assert np.all(np.asarray(tally.accepted) > 0)
    for updated, computed in zip(jax.tree.leaves(moved), jax.tree.leaves(fresh), strict=True):
        scale = 1 + float(jnp.max(jnp.abs(computed)))
        np.testing.assert_allclose(updated, computed, atol=1e-10 * scale)


@pytest.mark.parametrize("dimension", [2, 3])
def test_kato_cusps(dimension):
    """u'(0) is ½ and ¼ in three dimensions, 1 and ⅓ in two, for any free parameters."""
    n = 14 if dimension == 3 else 10
    psi = SlaterJastrow(ElectronGas(n, 2.0, dimension), [U(order=5)])
    term: Any = psi.with_parameters(psi.parameters + 0.3).terms[0]
    like, opposite = (0.25, 0.5) if dimension == 3 else (1 / 3, 1.0)
    slopes = [term.radial(jnp.zeros(()), list(row))[1] for row in term._coefficients()]
    np.testing.assert_allclose(slopes, [like, opposite], rtol=1e-12)
    # Eq. (8) of the paper with its own coefficients is the same function.
    r = 0.7 * float(term.length)
    for row, alpha in zip(term._coefficients(), term.alpha, strict=True):
        direct = sum(a * r**l for l, a in enumerate(alpha)) * (r - float(term.length)) ** 3
        assert float(term.radial(jnp.asarray(r), list(row))[0]) == pytest.approx(direct, rel=1e-10)


def test_p_equals_its_double_sum():
    psi = SlaterJastrow(ElectronGas(14, 1.0), [P(stars=3)])
    psi = psi.with_parameters(jnp.arange(1.0, 7.0) / 10)
    term: Any = psi.terms[0]
    r = np.asarray(psi.system.start(KEY, 1)[0])
    total = 0.0
    for i in range(14):
        for j in range(i + 1, 14):
            channel = int((i < 7) != (j < 7))
            waves = np.cos(term.G @ (r[:, i] - r[:, j]))
            total += np.sum(np.asarray(term.parameters)[channel][term.star] * waves)
    assert float(psi.jastrow.derivatives(jnp.asarray(r))[0]) == pytest.approx(total, rel=1e-12)


def test_single_precision_pair_terms():
    psi = SlaterJastrow(ElectronGas(14, 1.0), [U(order=6), P(stars=2)])
    psi = psi.with_parameters(psi.parameters + 0.05)
    walkers = begin(psi, psi.system.start(KEY, 1))
    double = local_energies(psi, walkers)["energy"][0]
    single = local_energies(psi, walkers, jnp.float32)["energy"][0]
    assert single.dtype == jnp.float64
    # float32 rounding 6e-8 of terms of order 100.
    assert abs(float(single - double)) < 1e-3
    assert float(single) != float(double)


@pytest.mark.slow
def test_drift_of_updated_determinants():
    """10⁵ moves by Sherman–Morrison and blocks, never refreshed, stay within 1e-8 of fresh ones."""
    psi = SlaterJastrow(ElectronGas(14, 1.0), delay=4)
    walkers = begin(psi, psi.system.start(KEY, 2))

    @eqx.filter_jit
    def many(psi, walkers):
        def body(i, walkers):
            key = jax.random.fold_in(KEY, i)
            return sweep(psi, GaussianSteps(jnp.asarray(0.7)), walkers, key)[0]

        return jax.lax.fori_loop(0, 100_000 // 14 + 1, body, walkers)

    moved: Any = many(psi, walkers)
    fresh: Any = begin(psi, moved.r)
    scale = float(jnp.max(jnp.abs(fresh.slater)))
    assert float(jnp.max(jnp.abs(moved.slater - fresh.slater))) < 1e-8 * scale
    assert float(jnp.max(jnp.abs(moved.log - fresh.log))) < 1e-8


def test_parameters_survive_a_file(tmp_path, any_psi):
    any_psi.save_parameters(tmp_path / "jastrow.h5")
    fresh = any_psi.with_parameters(jnp.zeros_like(any_psi.parameters))
    loaded = fresh.load_parameters(tmp_path / "jastrow.h5")
    np.testing.assert_array_equal(loaded.parameters, any_psi.parameters)
    other = SlaterJastrow(ElectronGas(14, 1.0), [U(order=11)])
    with pytest.raises(checks.InputError, match="must hold jastrow_0_u"):
        other.load_parameters(tmp_path / "jastrow.h5")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ElectronGas(16, 1.0), r"n: must fill closed shells .*14, 38.* but is 16"),
        (lambda: ElectronGas(14, -2.0), "rs: must be positive, but is -2"),
        (lambda: ElectronGas(15, 1.0), "n: must be even .* but is 15"),
        (lambda: ElectronGas(14, 1.0, 3, "square"), "lattice: must be one of 'sc'"),
        (lambda: ElectronGas(14, 1.0, twist=(0.1,)), "twist: must have 3 components"),
        (
            lambda: SlaterJastrow(ElectronGas(14, 1.0), [U(order=4, cutoff=2.5)]),
            r"jastrow.0.cutoff: must not exceed the radius 1.9425\d* .* but is 2.5",
        ),
        (
            lambda: SlaterJastrow(Trap(frequency=1.0), [P(stars=1)]),
            "jastrow.0: must not be P for a system",
        ),
        (lambda: U(order=1), "order: must be at least 2, but is 1"),
    ],
)
def test_input_that_cannot_work_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(checks.InputError, match=sentence):
        make()


def test_an_open_shell_may_be_asked_for():
    gas = ElectronGas(16, 1.0, allow_open_shell=True)
    assert gas.spins == (8, 8)


def test_jastrow_terms_that_cannot_be_used():
    gas = ElectronGas(2, 1.0)
    with pytest.raises(checks.InputError, match="jastrow: must be a list of JastrowTerms"):
        SlaterJastrow(gas, cast(Any, U(order=4)))
    with pytest.raises(checks.InputError, match="jastrow: must hold one term with Kato's cusps"):
        SlaterJastrow(gas, [U(order=4), P(stars=1), U(order=6)])


@pytest.mark.parametrize("smoothness", [2, 3, 4])
def test_slope_and_curvature_of_u_on_both_sides_of_the_cutoff(smoothness):
    psi = SlaterJastrow(ElectronGas(2, 1.0), [U(order=4, cutoff=1.0, smoothness=smoothness)])
    term: Any = psi.terms[0]
    beta = list(term._coefficients()[-1][:, None])
    x = jnp.asarray([0.1, 0.5, 0.99, 1.01, 1.3])
    value = lambda x: term.radial(x[None], beta)[0][0]  # noqa: E731
    slope = jax.vmap(jax.grad(value))(x)
    curvature = jax.vmap(jax.grad(jax.grad(value)))(x)
    _, found_slope, found_curvature = term.radial(x, beta)
    np.testing.assert_allclose(found_slope, slope, atol=1e-12)
    np.testing.assert_allclose(found_curvature, curvature, atol=1e-11)
    assert np.all(np.asarray(found_curvature)[3:] == 0)
