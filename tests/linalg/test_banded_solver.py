"""The banded solver against LAPACK, for every width and for sizes that do not fit blocks."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from zitter.linalg.banded_solver import BandedSolver

rng = np.random.default_rng(2)


def cayley_bands(n, p):
    """1 + iX of a Hermitian banded X, as bands[p + k, j] = M[j, j + k], and LAPACK's form of it."""
    x = np.zeros((n, n), complex)
    for k in range(p + 1):
        values = rng.normal(size=n - k) + (1j * rng.normal(size=n - k) if k else 0)
        x += np.diag(values, k) + (np.diag(values.conj(), -k) if k else 0)
    matrix = np.eye(n) + 1j * x
    bands, lapack = np.zeros((2 * p + 1, n), complex), np.zeros((2 * p + 1, n), complex)
    for k in range(-p, p + 1):
        for j in range(max(0, -k), min(n, n - k)):
            bands[p + k, j] = matrix[j, j + k]
            lapack[p - k, j + k] = matrix[j, j + k]
    return jnp.asarray(bands), lapack


@pytest.mark.parametrize("n", [16, 17, 23, 31])
@pytest.mark.parametrize("p", range(6))
def test_solution_is_lapack_s(p, n):
    bands, lapack = cayley_bands(n, p)
    rhs = rng.normal(size=n) + 1j * rng.normal(size=n)
    expected = scipy.linalg.solve_banded((p, p), lapack, rhs)
    found = jax.jit(lambda b, r: BandedSolver(b).solve(r))(bands, jnp.asarray(rhs))
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("p", [1, 3])
def test_derivative_with_respect_to_the_right_hand_side_and_the_matrix(p):
    bands, _ = cayley_bands(19, p)
    rhs = jnp.asarray(rng.normal(size=19) + 0j)

    @jax.jit
    def loss(scale):
        solution = BandedSolver(bands * scale).solve(rhs * scale**2)
        return jnp.sum(jnp.abs(solution[:7]) ** 2)

    h = 1e-5
    expected = (loss(1.0 + h) - loss(1.0 - h)) / (2 * h)
    assert float(jax.jit(jax.grad(loss))(1.0)) == pytest.approx(float(expected), rel=1e-8)


def test_single_precision():
    bands, _ = cayley_bands(20, 2)
    solve = jax.jit(lambda b, r: BandedSolver(b).solve(r))
    solution = solve(bands.astype(jnp.complex64), jnp.ones(20, jnp.complex64))
    assert solution.dtype == jnp.complex64
