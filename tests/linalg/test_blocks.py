"""Block operators against their own dense matrices, and the solver for many banded systems."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zitter import runtime
from zitter.linalg.angular_coupling import AngularCoupling
from zitter.linalg.bands import dense_from_bands
from zitter.linalg.blocks import DipoleBlocks, RadialBlocks
from zitter.linalg.channel_matrices import ChannelMatrices
from zitter.linalg.kernels import block_tridiagonal
from zitter.linalg.neighbors import Neighbors, united
from zitter.linalg.radial_solver import RadialSolver
from zitter.linalg.sums import Sum

runtime.settings()  # double precision before the first array is made
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


EVERYONE = Neighbors(np.tile(np.arange(4), (4, 1)))  # a full matrix is its own list of weights
OPERATORS = {
    "radial": RadialBlocks(symmetric_bands(4, 2, 9)),
    "length": AngularCoupling(symmetric_bands(1, 2, 9), angular()[None], EVERYONE),
    "velocity": AngularCoupling(
        np.concatenate([symmetric_bands(1, 2, 9, -1.0), symmetric_bands(1, 2, 9)]),
        -1j * np.stack([angular(), angular(-1.0)]),
        EVERYONE,
    ),
    "within channels": ChannelMatrices(
        dense_from_bands(jnp.asarray(symmetric_bands(4, 8, 9))), 0.7
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


@pytest.mark.parametrize("name", ["radial", "length", "velocity"])
def test_sparse_form_is_the_matrix(name):
    operator = OPERATORS[name]
    np.testing.assert_allclose(operator.as_sparse().toarray(), operator.as_matrix(), atol=1e-14)


def test_time_factors_do_not_copy_the_blocks():
    operator = OPERATORS["dipole"]
    assert operator.scaled(2.0).upper is operator.upper
    assert operator.merged(operator.scaled(0.5)).upper is operator.upper


def test_couplings_with_other_bands_stay_apart():
    both = OPERATORS["length"] + OPERATORS["velocity"]
    assert isinstance(both, Sum) and len(both.parts) == 2


def test_couplings_with_other_neighbors_are_one_where_their_bands_are_the_same():
    """Rows 0 and 3 have one neighbor to the right or left and stand for themselves otherwise."""
    bands = symmetric_bands(2, 2, 9)
    lists = [Neighbors([[1, 1], [0, 2], [1, 3], [2, 3]]), Neighbors([[2], [3], [0], [1]])]
    first, second = (
        AngularCoupling(bands, RNG.normal(size=(2, *found.rows.shape)) * factor, found, True, "r")
        for found, factor in zip(lists, (1.0, -1j), strict=True)
    )
    both = first.merged(second.scaled(0.3))
    assert isinstance(both, AngularCoupling) and both.neighbors == united(*lists)[0]
    matrix = np.asarray(first.as_matrix() + 0.3 * second.as_matrix())
    np.testing.assert_allclose(both.as_matrix(), matrix, atol=1e-14)
    np.testing.assert_allclose(both.as_sparse().toarray(), matrix, atol=1e-14)
    psi = state()
    expected = (matrix @ np.asarray(psi).reshape(-1)).reshape(4, 9)
    np.testing.assert_allclose(both.apply(psi), expected, atol=1e-13)
    np.testing.assert_allclose(both.apply(psi.real), (matrix @ psi.real.ravel()).reshape(4, 9))
    assert first.real and not both.real


@pytest.mark.parametrize(
    ("n", "p"),
    [pytest.param(60, 7, marks=pytest.mark.slow), (31, 3), (10, 4), (9, 0)]
    + [pytest.param(40, 1, marks=pytest.mark.slow)],
)
def test_radial_solver(n, p):
    # S + iX with S positive and X symmetric, as in an implicit step.
    bands = symmetric_bands(3, p, n) * 1j
    bands[:, p] += 4.0 + p
    rhs = jnp.asarray(RNG.normal(size=(3, n)) + 1j * RNG.normal(size=(3, n)))
    solution = jax.jit(lambda bands, rhs: RadialSolver(bands).solve(rhs))(jnp.asarray(bands), rhs)
    dense = dense_from_bands(jnp.asarray(bands))
    np.testing.assert_allclose(jnp.einsum("cij,cj->ci", dense, solution), rhs, atol=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_dipole_product_with_derivatives_and_many_states(sign, monkeypatch):
    """The path of the kernel, with XLA in its place: vmap and derivatives go around it."""
    monkeypatch.setattr(
        block_tridiagonal, "product_triton", lambda u, p, s: block_tridiagonal.product_xla(u, p, s)
    )
    upper = jnp.asarray(RNG.normal(size=(3, 9, 9)))
    batch = jnp.stack([state(), state()])

    def energy(upper, psi):
        return jnp.real(jnp.vdot(psi, block_tridiagonal.product_once(sign, upper, psi)))

    def plain(upper, psi):
        return jnp.real(jnp.vdot(psi, block_tridiagonal.product_xla(upper, psi, sign)))

    def all_of(function):
        """Values of both states, slopes for one, and those of both in the blocks."""

        @jax.jit
        def evaluated(upper, batch):
            values = jax.vmap(function, (None, 0))(upper, batch)
            slopes = jax.grad(function, (0, 1))(upper, batch[0])
            return values, slopes, jax.vmap(jax.grad(function), (None, 0))(upper, batch)

        return evaluated(upper, batch)

    (values, *slopes), (right, *right_slopes) = all_of(energy), all_of(plain)
    np.testing.assert_allclose(values, right, rtol=1e-13)
    for a, b in zip(jax.tree.leaves(slopes), jax.tree.leaves(right_slopes), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.gpu
@pytest.mark.parametrize(("dtype", "tolerance"), [(jnp.float64, 1e-14), (jnp.float32, 1e-5)])
@pytest.mark.parametrize("n", [640, 333])
def test_dipole_kernel_equals_xla(n, dtype, tolerance):
    """Sizes that do and do not divide into tiles; sums of n terms round to about √n·ε."""
    pytest.importorskip("jax_triton")
    upper = jnp.asarray(RNG.normal(size=(4, n, n)) / np.sqrt(n), dtype)
    psi = jnp.asarray(RNG.normal(size=(5, n)) + 1j * RNG.normal(size=(5, n)))
    psi = psi.astype(jnp.result_type(dtype, jnp.complex64))
    for sign in (1.0, -1.0):
        expected = block_tridiagonal.product_xla(upper, psi, sign)
        found = block_tridiagonal.product_triton(upper, psi, sign)
        assert float(jnp.max(jnp.abs(found - expected))) < 10 * tolerance
