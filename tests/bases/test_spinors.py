"""The basis of spinors: channels, overlap, values in space."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter.bases.spinor.kinetic_balance import dirac_bands, doublets, overlap_bands
from zitter.linalg.bands import host_dense


def random_state(basis, seed=0):
    rng = np.random.default_rng(seed)
    grouped = rng.normal(size=(len(basis.distinct_kappas), 1, basis.shape[1]))
    grouped = grouped + 1j * rng.normal(size=basis.by_kappa(jnp.zeros(basis.shape)).shape)
    return basis.packed(jnp.asarray(grouped * basis.mask[:, None]))


@pytest.fixture(scope="module")
def basis():
    return zt.SpinorBasis(zt.RadialBSplines(20, 7, 12.0), 3)


def test_channels(basis):
    assert basis.shape == (24, 40)  # 2 Σ 2|κ| channels, two functions for each spline
    assert np.all(np.abs(basis.mus) < np.abs(basis.kappas))
    assert len(set(zip(basis.kappas, basis.mus, strict=True))) == 24
    assert zt.SpinorBasis(basis.radial, 3, 0.5).shape[0] == 12
    assert basis.kappas[basis.channel(-2, 1.5)] == -2 and basis.mus[basis.channel(-2, 1.5)] == 1.5


@pytest.mark.parametrize(
    ("mu_max", "words"),
    [
        (3.5, "at most 2.5, since |μ| < |κ| ≤ kappa_max = 3"),
        (0.3, "1/2, 3/2"),
        (2, "1/2, 3/2, 5/2, …, but is 2"),
        (-1, "positive"),
    ],
)
def test_inconsistent_mu_is_refused(basis, mu_max, words):
    with pytest.raises(zt.InputError, match=f"mu_max: must .*{words.split()[-1]}") as error:
        zt.SpinorBasis(basis.radial, 3, mu_max)
    assert words in str(error.value)


def test_splines_that_do_not_fit_are_refused(basis):
    for radial in (zt.RadialBSplines(20, 7, 12.0, outer="free"), zt.RadialBSplines(20, 2, 12.0)):
        with pytest.raises(zt.InputError, match="radial"):
            zt.SpinorBasis(radial, 2)


def test_matrices_are_polynomials_in_kappa(basis):
    """S(κ) and H₀(κ) against integrals with that κ put into P and Q from the start."""
    d = doublets(basis.radial, basis.c, 16)
    kappa, c = -3, basis.c
    P, slope, Q = (a[0] + kappa * a[1] for a in (d.P, d.slope, d.Q))
    size = 2 * (len(d.r) + basis.radial.degree)
    S, H = np.zeros((2, size, size))
    for j, (r, w) in enumerate(zip(d.r, d.weights, strict=True)):
        p, s, q = (a[j].reshape(len(r), -1) for a in (P, slope, Q))
        place = np.ix_(*2 * [np.arange(2 * j, 2 * j + p.shape[1])])
        S[place] += (p.T * w) @ p + (q.T * w) @ q
        coupling = (p.T * (w * kappa / r)) @ q + (s.T * w) @ q
        H[place] += c * (coupling + coupling.T) - 2 * c**2 * (q.T * w) @ q
    for bands, exact in ((overlap_bands, S), (dirac_bands, H)):
        coefficients = bands(basis.radial, c)
        total = host_dense(sum(kappa**power * o for power, o in enumerate(coefficients)))
        inner = exact[2:-4, 2:-4]
        scale = np.abs(inner[2:, 2:]).max()  # the first spline is not for this κ
        np.testing.assert_allclose(total[2:, 2:], inner[2:, 2:], atol=1e-13 * scale)


def test_overlap_and_its_inverse(basis):
    psi, phi = random_state(basis), random_state(basis, 1)
    back = basis.solve_overlap(basis.overlap(psi))
    np.testing.assert_allclose(back, psi, atol=1e-11)  # S has condition 1e3
    assert basis.inner(phi, psi) == pytest.approx(np.conj(basis.inner(psi, phi)), rel=1e-13)
    assert float(basis.norm(psi)) > 0


def test_order_of_channels_changes_nothing(basis):
    other = zt.SpinorBasis(basis.radial, 3, order="mu")
    assert not np.array_equal(other.mus, basis.mus)
    psi = random_state(basis)
    same = other.packed(basis.by_kappa(psi))
    assert float(other.norm(same)) == pytest.approx(float(basis.norm(psi)), rel=1e-14)


def test_values_in_space_integrate_to_the_norm(basis):
    """∫ |ψ|² over r, θ, φ is ⟨ψ|ψ⟩: Gauss points are exact for splines and spinors."""
    psi = basis.normalize(random_state(basis))
    d = doublets(basis.radial, basis.c, 12)
    r, w = d.r.reshape(-1), d.weights.reshape(-1)
    x, v = np.polynomial.legendre.leggauss(6)
    m, values = basis.spinor_values(psi, r, np.arccos(x))
    assert values.shape == (4, len(m), 6, len(r))
    total = np.einsum("amxr,x,r->", np.abs(values) ** 2, v, w * r**2)
    assert total == pytest.approx(1, abs=1e-12)
