"""Slater-type functions: hydrogen's own states, norms, derivatives."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zitter import checks
from zitter.qmc import SlaterShell, SlaterTypes

R = np.random.default_rng(2).normal(size=(3, 6))


def test_states_of_hydrogen():
    """n = l + 1 with ζ = 1/n, and 2s as (2 − r)e^{−r/2}: −½∇²φ/φ − 1/r is −1/2n² everywhere."""
    shells = [SlaterShell(0, n, n - 1, 1 / n) for n in range(1, 6)] + [
        SlaterShell(0, 1, 0, 0.5),
        SlaterShell(0, 2, 0, 0.5),
    ]
    energies = np.concatenate([np.full(2 * n - 1, -0.5 / n**2) for n in range(1, 6)] + [[-0.125]])
    coefficients = np.zeros((27, 26))
    coefficients[:25, :25] = np.eye(25)
    # N of 1s is 2ζ^{3/2} = 1/√2, that of 2s (2ζ)^{5/2}/√24 = 1/√24.
    coefficients[25:, 25] = [2 * np.sqrt(2), -np.sqrt(24)]
    orbitals = SlaterTypes([[0, 0, 0]], shells, coefficients)
    value, _, laplacian = eqx.filter_jit(orbitals.derivatives)(R)
    distance = np.linalg.norm(R, axis=0)[:, None]
    np.testing.assert_allclose(-0.5 * laplacian - value / distance, energies * value, atol=1e-13)


def test_functions_are_normalized():
    """∫|φ|² of one center by radial quadrature and Σ_m |Y_lm|² = (2l+1)/4π."""
    shells = [SlaterShell(0, n, l, 1.1) for n in range(1, 5) for l in range(n)]
    size = sum(2 * s.l + 1 for s in shells)
    orbitals = SlaterTypes([[0.3, 0, 0]], shells, np.eye(size))
    x, w = np.polynomial.legendre.leggauss(80)
    r, w = 15 * (x + 1), 15 * w
    value = np.asarray(eqx.filter_jit(orbitals.values)(np.stack([r + 0.3, 0 * r, 0 * r])))
    squares = 4 * np.pi * np.einsum("pf,p->f", value**2, w * r**2)
    first = 0
    for shell in shells:
        total = np.sum(squares[first : first + 2 * shell.l + 1])
        assert total == pytest.approx(2 * shell.l + 1, abs=1e-10)
        first += 2 * shell.l + 1


def test_derivatives_are_those_of_the_values():
    shells = [SlaterShell(0, 1, 0, 2.7), SlaterShell(1, 3, 1, 1.2), SlaterShell(0, 4, 2, 1.3)]
    orbitals = SlaterTypes([[0, 0, 0.1], [1, 0, 2.0]], shells, np.eye(9))
    r = R[:, 0]
    _, slope, laplacian = eqx.filter_jit(orbitals.derivatives)(r)
    values = lambda r: orbitals.values(r)  # noqa: E731
    np.testing.assert_allclose(jax.jit(jax.jacrev(values))(r).T, slope, atol=1e-13)
    second = jax.jit(jax.hessian(values))(r)
    np.testing.assert_allclose(jnp.trace(second, axis1=1, axis2=2), laplacian, atol=1e-12)


def test_impossible_functions_are_refused():
    with pytest.raises(checks.InputError, match="l: must be at most 1, but is 2"):
        SlaterShell(0, 2, 2, 1.0)
    with pytest.raises(checks.InputError, match="each of the 3 functions, but have 1"):
        SlaterTypes([[0, 0, 0]], [SlaterShell(0, 2, 1, 1.0)], [[1.0]])
