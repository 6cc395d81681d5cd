"""The iteration of implicit steps against dense solutions, near one and far from it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zitter.linalg.bicgstab import bicgstab

N = 60
rng = np.random.default_rng(5)
SQUARE = rng.normal(size=(N, N)) + 1j * rng.normal(size=(N, N))
SQUARE = 1j * (SQUARE + SQUARE.conj().T)  # as iτ/2 V is
SQUARE /= np.linalg.norm(SQUARE, 2)
RHS = rng.normal(size=N) + 1j * rng.normal(size=N)


def solved(size: float, near: bool = True, tol: float = 1e-11, most: int = 60, guess=None):
    matrix = jnp.asarray(np.eye(N) + size * SQUARE)
    start = jnp.zeros(N, complex) if guess is None else jnp.asarray(guess)
    found = jax.jit(lambda b, x: bicgstab(lambda v: matrix @ v, b, x, tol, most, near))(
        jnp.asarray(RHS), start
    )
    return np.asarray(matrix), found


# Near one the plain iteration ends it, at 0.8 BiCGSTAB does, at 3 the matrix is far from one.
@pytest.mark.parametrize("size", [1e-3, 0.1, 0.8, 3.0])
@pytest.mark.parametrize("near", [True, False])
def test_solutions_are_those_of_dense_matrices(size, near):
    matrix, found = solved(size, near)
    exact = np.linalg.solve(matrix, RHS)
    condition = np.linalg.cond(matrix)
    error = np.linalg.norm(np.asarray(found.x) - exact) / np.linalg.norm(exact)
    assert error < 2e-11 * condition
    # The residual is that of the recurrence; the true one differs by rounding alone.
    true = np.linalg.norm(RHS - matrix @ np.asarray(found.x)) / np.linalg.norm(RHS)
    assert float(found.residual) <= 1e-11 and true < 2e-11


def test_a_weak_coupling_takes_one_product_for_each_factor_of_its_strength():
    _, found = solved(1e-3)
    # From zero: the guess costs one product and leaves 1, each other one leaves 1e-3 at most.
    assert int(found.products) <= 6


def test_a_good_guess_is_used():
    matrix, _ = solved(0.1)
    exact = np.linalg.solve(matrix, RHS)
    _, found = solved(0.1, guess=exact)
    assert int(found.products) == 1
    np.testing.assert_allclose(found.x, exact, rtol=1e-11)


@pytest.mark.parametrize("near", [True, False])
def test_what_does_not_converge_says_so(near):
    _, found = solved(30.0, near, most=4)
    assert int(found.products) <= 9
    assert not float(found.residual) <= 1e-11


def test_many_systems_at_once_are_each_their_own():
    sizes = jnp.asarray([1e-3, 0.8])
    matrices = jnp.eye(N) + sizes[:, None, None] * SQUARE

    def one(matrix):
        return bicgstab(lambda v: matrix @ v, jnp.asarray(RHS), jnp.zeros(N, complex), 1e-11, 60)

    found = jax.vmap(one)(matrices)
    for matrix, x in zip(matrices, found.x, strict=True):
        np.testing.assert_allclose(matrix @ x, RHS, atol=1e-9)
