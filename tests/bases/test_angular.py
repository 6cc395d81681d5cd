"""Coupling coefficients against sympy and against what angular momenta must satisfy."""

from __future__ import annotations

import numpy as np
import pytest

from zitter.bases.angular import (
    clebsch_gordan,
    orbital,
    polar_harmonics,
    spin_coefficients,
    spinor_table,
    wigner_3j,
)


@pytest.mark.parametrize(
    "js",
    [(1, 1, 1), (2, 1, 3), (0.5, 0.5, 1), (1.5, 2, 2.5), (3.5, 3, 0.5), (6, 5.5, 4.5), (12, 10, 7)],
)
def test_wigner_3j_equals_sympy(js):
    from sympy import Rational
    from sympy.physics.wigner import wigner_3j as exact

    exact_js = [Rational(round(2 * j), 2) for j in js]
    for m1 in np.arange(-js[0], js[0] + 1)[:: max(1, int(js[0] // 2))]:
        for m2 in np.arange(-js[1], js[1] + 1)[:: max(1, int(js[1] // 2))]:
            m3 = -m1 - m2
            reference = float(exact(*exact_js, *(Rational(round(2 * m), 2) for m in (m1, m2, m3))))
            assert wigner_3j(*js, m1, m2, m3) == pytest.approx(reference, rel=1e-14, abs=1e-300)


def test_forbidden_couplings_vanish():
    assert wigner_3j(1, 1, 3, 0, 0, 0) == 0  # triangle
    assert wigner_3j(1, 1, 1, 0, 0, 0) == 0  # odd sum
    assert wigner_3j(1, 1, 1, 1, 1, -1) == 0  # m
    assert clebsch_gordan(1, 0, 1, 0, 0.5, 0) == 0  # no such j


@pytest.mark.parametrize("pair", [(199.5, 200), (200, 200)])
def test_coupling_is_unitary_at_large_l(pair):
    """Σ_j ⟨j1 m1; j2 m2|j m⟩² = 1, where Racah's sum in floating point would cancel altogether."""
    j1, j2 = pair
    m1, m2 = j1 - 3, -20
    js = np.arange(abs(j1 - j2), j1 + j2 + 1)
    total = sum(clebsch_gordan(j1, m1, j2, m2, j, m1 + m2) ** 2 for j in js)
    assert total == pytest.approx(1, abs=1e-13)  # 400 rounded squares


def test_spin_coefficients_are_clebsch_gordan():
    for kappa in (-4, -1, 1, 2, 5):
        l, j = int(orbital(kappa)), abs(kappa) - 0.5
        for mu in np.arange(-j, j + 1):
            up, down = spin_coefficients(kappa, mu)
            assert up == pytest.approx(clebsch_gordan(l, mu - 0.5, 0.5, 0.5, j, mu), abs=1e-15)
            assert down == pytest.approx(clebsch_gordan(l, mu + 0.5, 0.5, -0.5, j, mu), abs=1e-15)


@pytest.mark.parametrize("m", [0, -1, 7, 150, 200])
def test_harmonics_are_orthonormal_to_l_200(m):
    x, w = np.polynomial.legendre.leggauss(201)
    table = polar_harmonics(200, m, x)
    # The recurrence loses a few digits of 200 steps.
    np.testing.assert_allclose((table * w) @ table.T, np.eye(len(table)), atol=2e-12)


def test_harmonics_have_the_condon_shortley_phase():
    from scipy.special import sph_harm_y

    theta = np.asarray([0.3, 1.1, 2.5])
    for m in (-3, -1, 0, 1, 2):
        table = polar_harmonics(5, m, np.cos(theta))
        for l in range(abs(m), 6):
            exact = np.real(sph_harm_y(l, m, theta, 0.0)) * np.sqrt(2 * np.pi)
            np.testing.assert_allclose(table[l - abs(m)], exact, atol=1e-14)


def test_spinors_are_orthonormal():
    x, w = np.polynomial.legendre.leggauss(24)
    kappa = np.asarray([s * k for k in range(2, 20) for s in (1, -1)])
    table = spinor_table(kappa, np.full(len(kappa), 1.5), x)
    overlap = np.einsum("sax,x,sbx->ab", table, w, table)
    np.testing.assert_allclose(overlap, np.eye(len(kappa)), atol=1e-13)
