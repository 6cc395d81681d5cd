"""The explicit update: XLA against the definition, and the kernels against XLA."""

import jax.numpy as jnp
import numpy as np
import pytest

from marks import slow
from zitter.linalg.kernels import explicit_update


def problem(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    psi = jnp.asarray(rng.normal(size=shape), dtype)
    g = jnp.asarray(1 / (2 + 0.1 * rng.random(shape)), dtype)
    return psi, g, jnp.asarray([0.1, 0.12, 0.08], dtype)


def defined(psi, g, weights):
    """One update, as the equation has it."""
    p = np.pad(np.asarray(psi), 1)
    slope = sum(
        float(weights[a]) * (np.roll(p, 1, a) + np.roll(p, -1, a) - 2 * p) for a in range(3)
    )[1:-1, 1:-1, 1:-1]
    return (4 * g - 1) * psi + g * slope


@pytest.mark.parametrize("updates", [2, 6])
def test_xla_form_is_the_definition(updates):
    psi, g, weights = problem((5, 6, 7), jnp.float64)
    expected = psi
    for _ in range(updates):
        expected = defined(expected, g, weights)
    found = explicit_update.advance_xla(psi, g, weights, updates)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("dtype", "tolerance"), [(jnp.float64, 1e-14), slow(jnp.float32, 1e-6)])
@pytest.mark.parametrize("shape", [(1, 4, 5), (2, 3, 3), (7, 20, 33), (16, 5, 64)])
@pytest.mark.parametrize("updates", [2, 8])
def test_numba_equals_xla(dtype, tolerance, shape, updates):
    """Also with fewer planes than threads, and an even and an odd number of passes."""
    pytest.importorskip("numba")
    psi, g, weights = problem(shape, dtype, 3)
    before = np.array(psi)
    found = explicit_update.advance_numba(psi, g, weights, updates)
    expected = explicit_update.advance_xla(psi, g, weights, updates)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * 10)
    np.testing.assert_array_equal(psi, before)


def test_numba_does_not_depend_on_the_number_of_threads():
    numba = pytest.importorskip("numba")
    psi, g, weights = problem((9, 10, 11), jnp.float64, 4)
    found = explicit_update.advance_numba(psi, g, weights, 6)
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        alone = explicit_update.advance_numba(psi, g, weights, 6)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(alone, found)


@pytest.mark.gpu
@pytest.mark.parametrize(("dtype", "tolerance"), [(jnp.float64, 1e-14), (jnp.float32, 1e-6)])
@pytest.mark.parametrize("shape", [(1, 4, 5), (16, 20, 130), (33, 31, 257), (130, 45, 64)])
@pytest.mark.parametrize("updates", [2, 4, 12])
def test_cuda_kernel_equals_xla(dtype, tolerance, shape, updates):
    """Shapes that do not divide into the kernel's tiles, updates that do not into its passes."""
    pytest.importorskip("cupy")
    psi, g, weights = problem(shape, dtype, 2)
    before = np.array(psi)
    found = explicit_update.kernel_for(psi)(psi, g, weights, updates)
    expected = explicit_update.advance_xla(psi, g, weights, updates)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * 10)
    np.testing.assert_array_equal(psi, before)
