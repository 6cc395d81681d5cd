"""Bloch sums of Gaussians against PySCF, their periodicity, and real orbitals made of them."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from zitter import checks
from zitter.qmc import BlochGaussians, GaussianBasis, GaussianShell, RealParts

DATA = "tests/data/bloch_gaussians.npz"  # see make_bloch_gaussians.py there


@pytest.fixture(scope="module")
def stored():
    with np.load(DATA) as kept:
        return dict(kept)


def basis_of(kept, name):
    shells = [
        GaussianShell(center, l, kept[f"shell{l}"][:, 0], kept[f"shell{l}"][:, 1:])
        for center in range(2)
        for l in range(3)
    ]
    return GaussianBasis(kept[f"{name}_centers"], shells)


@pytest.fixture(scope="module", params=["diamond", "sheet"])
def crystal(request, stored):
    name = request.param
    given = (stored[f"{name}_{what}"] for what in ("vectors", "k", "coefficients"))
    orbitals = BlochGaussians(basis_of(stored, name), *given, tolerance=1e-9)
    kept = {what: stored[f"{name}_{what}"] for what in ("vectors", "k", "points", "orbitals")}
    return orbitals, kept


def test_orbitals_are_those_of_pyscf(crystal):
    orbitals, kept = crystal
    assert orbitals.is_complex and orbitals.count == 2 * len(kept["k"])
    value, slope, laplacian = eqx.filter_jit(orbitals.derivatives)(kept["points"].T)
    # Images below 1e-9 are dropped, some of them for each of 18 functions; derivatives of the
    # tails are larger by 2αr and its square, with α about 0.3 and r about 8.
    np.testing.assert_allclose(value, kept["orbitals"][0], atol=5e-8)
    np.testing.assert_allclose(slope, kept["orbitals"][1:4], atol=2e-7)
    np.testing.assert_allclose(laplacian, kept["orbitals"][4], atol=1e-6)
    values, slopes = eqx.filter_jit(orbitals.values), eqx.filter_jit(orbitals.slopes)
    np.testing.assert_allclose(values(kept["points"].T), value, atol=1e-13)
    np.testing.assert_allclose(slopes(kept["points"].T)[1], slope, atol=1e-13)


def test_bloch_theorem(crystal):
    """ψ(r + T) = e^{ik·T} ψ(r), to the rounding of k·T."""
    orbitals, kept = crystal
    T = np.arange(3, 3 + len(kept["vectors"])) @ kept["vectors"]
    values = eqx.filter_jit(orbitals.values)
    here, there = values(kept["points"].T), values((kept["points"] + T).T)
    phases = np.repeat(np.exp(1j * kept["k"] @ T), 2)
    np.testing.assert_allclose(there, phases * here, atol=1e-12)


def test_order_picks_orbitals(stored):
    given = [stored[f"diamond_{what}"] for what in ("vectors", "k", "coefficients")]
    basis = basis_of(stored, "diamond")
    some = BlochGaussians(basis, *given, order=[5, 0, 8], tolerance=1e-9)
    found = eqx.filter_jit(some.values)(stored["diamond_points"].T)
    np.testing.assert_allclose(found, stored["diamond_orbitals"][0][:, [5, 0, 8]], atol=5e-8)


def test_real_coefficients_at_gamma_give_real_orbitals(stored):
    vectors, table = stored["diamond_vectors"], stored["diamond_coefficients"][0]
    orbitals = BlochGaussians(
        basis_of(stored, "diamond"), vectors, np.zeros((1, 3)), [table.real], tolerance=1e-9
    )
    assert not orbitals.is_complex
    value, _, laplacian = eqx.filter_jit(orbitals.derivatives)(stored["diamond_points"].T)
    assert value.dtype == jnp.float64
    # Functions are real at Γ, so these are the real parts of what complex coefficients give.
    expected = stored["diamond_orbitals"][..., :2].real
    np.testing.assert_allclose(value, expected[0], atol=5e-8)
    np.testing.assert_allclose(laplacian, expected[4], atol=1e-6)


def test_real_parts_of_a_pair(crystal):
    """Re and Im of ψ_k, and the precision asked for."""
    orbitals, kept = crystal
    real = RealParts(orbitals, [(4, 0), (4, 1), (1, 1)])
    assert not real.is_complex and real.count == 3
    value, slope, laplacian = eqx.filter_jit(real.derivatives)(kept["points"].T, jnp.float32)
    assert value.dtype == slope.dtype == laplacian.dtype == jnp.float32
    numbers = kept["orbitals"]
    expected = np.stack([numbers[..., 4].real, numbers[..., 4].imag, numbers[..., 1].imag], -1)
    scale = np.max(np.abs(expected), axis=(1, 2))
    np.testing.assert_allclose(value, expected[0], atol=2e-7 * scale[0])
    np.testing.assert_allclose(slope, expected[1:4], atol=2e-7 * max(scale[1:4]))
    np.testing.assert_allclose(laplacian, expected[4], atol=2e-7 * scale[4] + 1e-6)


def test_impossible_crystals_are_refused(stored):
    basis = basis_of(stored, "diamond")
    gamma = np.zeros((1, 3))
    with pytest.raises(checks.InputError, match="vectors: must be two or three independent"):
        BlochGaussians(basis, [[1, 0, 0], [2, 0, 0]], gamma, [np.eye(basis.count)])
    vectors = stored["diamond_vectors"]
    with pytest.raises(checks.InputError, match="one array for each of 1 k, but are 2"):
        BlochGaussians(basis, vectors, gamma, 2 * [np.eye(basis.count)])
    with pytest.raises(checks.InputError, match=r"coefficients\.0: must be \(18 functions"):
        BlochGaussians(basis, vectors, gamma, [np.eye(3)])
    real = BlochGaussians(basis, vectors, gamma, [np.eye(basis.count)])
    with pytest.raises(checks.InputError, match="orbitals: must be complex"):
        RealParts(real, [(0, 1)])
