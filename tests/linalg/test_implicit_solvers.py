"""The iteration behind implicit steps where it is not plain sailing, and resolvents on a line."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter.linalg.banded import Banded
from zitter.linalg.bicgstab import bicgstab
from zitter.linalg.resolvents import BandedResolvents
from zitter.propagators.implicit import longest_step


def near_one(strength: float, n: int = 40) -> jax.Array:
    """1 + iX with a Hermitian X of this norm."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    x = x + x.conj().T
    return jnp.asarray(np.eye(n) + 1j * strength * x / np.linalg.norm(x, 2))


@pytest.mark.parametrize("near", [True, False])
@pytest.mark.parametrize("strength", [1e-3, 0.2, 0.8, 2.0])
def test_the_residual_said_is_the_true_one(strength, near):
    zt.Levels(1)  # double precision
    matrix, rhs = near_one(strength), jnp.ones(40, complex)
    solved = bicgstab(lambda x: matrix @ x, rhs, 0.5 * rhs, 1e-11, 100, near)
    true = jnp.linalg.norm(rhs - matrix @ solved.x) / jnp.linalg.norm(rhs)
    # Recurrences drift from the truth by rounding, about 1e-16 for each of some 100 products.
    assert float(true) <= 1.1e-11 and float(abs(true - solved.residual)) < 1e-13
    assert int(solved.iterations) == int(solved.products) // 2


@pytest.mark.parametrize("guess", [0.0, 1.0])
def test_nothing_to_solve_for_is_solved(guess):
    zt.Levels(1)
    matrix = near_one(0.2)
    start = jnp.full(40, guess, complex)
    solved = bicgstab(lambda x: matrix @ x, jnp.zeros(40, complex), start, 1e-12, 50)
    assert float(solved.residual) < 1e-12
    np.testing.assert_allclose(solved.x, 0, atol=1e-11)


@pytest.mark.parametrize("guess", [1e9, np.inf, np.nan])
def test_a_guess_worse_than_none_is_left(guess):
    zt.Levels(1)
    matrix, rhs = near_one(0.2), jnp.ones(40, complex)
    solved = bicgstab(lambda x: matrix @ x, rhs, jnp.full(40, guess, complex), 1e-13, 50)
    np.testing.assert_allclose(matrix @ solved.x, rhs, atol=1e-11)


@pytest.mark.parametrize("bound", [1e3, 0.3, 1e-2])
def test_the_step_named_is_shorter_and_was_tried(bound):
    tried = []

    def converges(step: float) -> bool:
        tried.append(step)
        return step < 0.05

    named = longest_step(converges, 1.0, bound)
    assert named == tried[-1] and 0.7 * 0.05 / 1.1 < named < 0.05


def test_a_step_on_a_line_in_single_precision_errs_by_rounding_of_its_change():
    zt.Levels(1)
    n, z = 200, 0.01j
    bands = np.stack([np.full(n, -0.5), np.ones(n), np.full(n, -0.5)])
    bands[0, 0] = bands[2, -1] = 0
    psi = np.exp(-(((np.arange(n) - 100) / 20) ** 2)) + 0j
    exact = np.linalg.solve(np.eye(n) + z * np.asarray(Banded(bands).as_matrix()), psi)
    family = BandedResolvents(Banded(jnp.asarray(bands, jnp.float32)))
    factor, state = jnp.complex64(z), jnp.asarray(psi, jnp.complex64)
    found = family.resolved(family.at(factor), factor, state)
    assert found.dtype == jnp.complex64
    # One rounding of ψ, 6e-8, and those of a change that is a thousand times smaller.
    np.testing.assert_allclose(found, exact, atol=7e-8)
