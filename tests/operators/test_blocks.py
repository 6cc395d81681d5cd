"""Block operators against their own dense matrices, and the solver for many banded systems."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from zitter.operators.blocks import (
    AngularCoupling,
    DipoleBlocks,
    RadialBlocks,
    dense_from_bands,
)
from zitter.operators.radial_solver import RadialSolver
from zitter.operators.sums import Sum

RNG = np.random.default_rng(3)


def symmetric_bands(count, p, n, sign=1.0):
    """Bands of random (anti)symmetric matrices."""
    full = RNG.normal(size=(count, n, n))
    full = full + sign * np.swapaxes(full, 1, 2)
    bands = np.zeros((count, 2 * p + 1, n))
    for k in range(-p, p + 1):
        for j in range(max(0, -k), min(n, n - k)):
            bands[:, p + k, j] = full[:, j, j + k]
    return bands


def angular(sign=1.0):
    matrix = RNG.normal(size=(4, 4))
    return matrix + sign * matrix.T


OPERATORS = {
    "radial": RadialBlocks(symmetric_bands(4, 2, 9)),
    "length": AngularCoupling(symmetric_bands(1, 2, 9), angular()[None]),
    "velocity": AngularCoupling(
        np.concatenate([symmetric_bands(1, 2, 9, -1.0), symmetric_bands(1, 2, 9)]),
        np.stack([angular(), angular(-1.0)]),
        -1j,
    ),
    "dipole": DipoleBlocks(RNG.normal(size=(3, 9, 9)), 0.7),
    "dipole velocity": DipoleBlocks(RNG.normal(size=(3, 9, 9)), 0.7, -1j),
}


def state():
    return jnp.asarray(RNG.normal(size=(4, 9)) + 1j * RNG.normal(size=(4, 9)))


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_matrix_product_and_algebra(operator):
    matrix, psi = np.asarray(operator.as_matrix()), state()
    np.testing.assert_allclose(matrix, matrix.conj().T, atol=1e-14)
    assert operator.hermitian
    product = (matrix @ np.asarray(psi).reshape(-1)).reshape(4, 9)
    np.testing.assert_allclose(operator.apply(psi), product, atol=1e-12)
    np.testing.assert_allclose(operator.scaled(-0.3).as_matrix(), -0.3 * matrix, atol=1e-13)
    twice = operator.merged(operator.scaled(2.0))
    np.testing.assert_allclose(twice.as_matrix(), 3 * matrix, atol=1e-12)
    assert not operator.scaled(1j).hermitian
    low, high = operator.bounds()
    energies = np.linalg.eigvalsh(matrix)
    assert low <= energies[0] and energies[-1] <= high


def test_time_factors_do_not_copy_the_blocks():
    operator = OPERATORS["dipole"]
    assert operator.scaled(2.0).upper is operator.upper
    assert operator.merged(operator.scaled(0.5)).upper is operator.upper


def test_parts_with_other_phases_stay_apart():
    both = OPERATORS["length"] + OPERATORS["velocity"]
    assert isinstance(both, Sum) and len(both.parts) == 2


@pytest.mark.parametrize(("n", "p"), [(60, 7), (31, 3), (10, 4), (40, 1), (9, 0)])
def test_radial_solver(n, p):
    # S + iX with S positive and X symmetric, as in an implicit step.
    bands = symmetric_bands(3, p, n) * 1j
    bands[:, p] += 4.0 + p
    rhs = jnp.asarray(RNG.normal(size=(3, n)) + 1j * RNG.normal(size=(3, n)))
    solution = RadialSolver(jnp.asarray(bands)).solve(rhs)
    dense = dense_from_bands(jnp.asarray(bands))
    np.testing.assert_allclose(jnp.einsum("cij,cj->ci", dense, solution), rhs, atol=1e-12)
