"""How fast derivatives converge with the spacing."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.fft

import zitter as zt
from zitter.linalg import spectral
from zitter.linalg.stencil import first_derivative, second_derivative

rng = np.random.default_rng(1)


def gaussian_errors(order, boundary, spacings, derivative=2):
    """Largest error of the derivative of e^{−x²/2} on boxes of the same length."""
    found = []
    for h in spacings:
        grid = zt.Grid(round(16 / h), h, boundary)
        x = grid.points(0)
        psi = np.exp(-(x**2) / 2)
        if derivative == 2:
            H = zt.discretize(zt.Model([zt.Kinetic(order=order)]), grid)
            image, exact = H.apply(jnp.asarray(psi)), -0.5 * (x**2 - 1) * psi
        else:
            image = grid.momentum(np.ones(1), order).apply(jnp.asarray(psi, complex))
            exact = 1j * x * psi
        found.append(np.abs(np.asarray(image) - exact).max())
    return np.array(found)


@pytest.mark.parametrize("derivative", [1, 2])
@pytest.mark.parametrize("boundary", ["zero", "periodic"])
@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_stencils_have_their_order(order, boundary, derivative):
    spacings = np.array([0.2, 0.1])
    found = gaussian_errors(order, boundary, spacings, derivative)
    assert np.log2(found[0] / found[1]) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("boundary", ["zero", "periodic"])
def test_spectral_derivatives_converge_faster_than_any_power(boundary):
    """The error falls as e^{−k²/2} at the largest k = π/h: 7e-3 at h = 1, 3e-9 at h = 0.5."""
    found = gaussian_errors("spectral", boundary, [1.0, 0.5])
    assert found[0] > 1e-3
    assert found[1] < 3e-9


@pytest.mark.parametrize("n", [4, 6, 8])
def test_weights_are_exact_for_polynomials(n):
    """Order n: d² and d are exact up to degree n + 1 and n."""
    k = np.arange(-(n // 2), n // 2 + 1)
    for degree in range(n + 2):
        assert second_derivative(n) @ k**degree == pytest.approx(2 * (degree == 2), abs=1e-10)
    for degree in range(n + 1):
        assert first_derivative(n) @ k**degree == pytest.approx(float(degree == 1), abs=1e-10)


def test_textbook_weights():
    np.testing.assert_allclose(second_derivative(2), [1, -2, 1])
    np.testing.assert_allclose(second_derivative(4), np.array([-1, 16, -30, 16, -1]) / 12)
    np.testing.assert_allclose(first_derivative(4), np.array([1, -8, 0, 8, -1]) / 12)


@pytest.mark.parametrize(
    "n", [5, 64, spectral.MATRIX_SINE_LIMIT, spectral.MATRIX_SINE_LIMIT + 1, 301]
)
@pytest.mark.parametrize("kind", ["complex", "real"])
def test_sine_transform_by_matrix_and_by_fft(n, kind):
    """Below and above the length where the FFT takes over: SciPy's orthonormal DST-I."""
    x = rng.normal(size=(n, 2)) + (1j * rng.normal(size=(n, 2)) if kind == "complex" else 0)
    expected = scipy.fft.dst(x.real, 1, axis=0, norm="ortho")
    if kind == "complex":
        expected = expected + 1j * scipy.fft.dst(x.imag, 1, axis=0, norm="ortho")
    found = spectral.sine_transform(jnp.asarray(x), 0)
    assert np.iscomplexobj(found) == (kind == "complex")
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-12)


def test_kinetic_energy_of_a_sine_is_exact_above_and_below_the_limit():
    for n in (spectral.MATRIX_SINE_LIMIT, spectral.MATRIX_SINE_LIMIT + 1):
        grid = zt.Grid(n, 0.1)
        k = 3 * np.pi / ((n + 1) * 0.1)
        psi = np.sin(k * (grid.points(0) - grid.points(0)[0] + 0.1))
        H = zt.discretize(zt.Model([zt.Kinetic(mass=2.0)]), grid)
        np.testing.assert_allclose(
            np.asarray(H.apply(jnp.asarray(psi))), k**2 / 4 * psi, atol=1e-10
        )
