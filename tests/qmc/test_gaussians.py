"""Gaussian functions: conventions, derivatives and precision."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zitter import checks
from zitter.qmc import GaussianBasis, Gaussians, GaussianShell
from zitter.qmc.orbitals import angular

DATA = "tests/data/gaussians.npz"  # see make_gaussians.py there


@pytest.fixture(scope="module")
def stored():
    with np.load(DATA) as kept:
        return dict(kept)


def basis_of(kept, cartesian: bool) -> GaussianBasis:
    shells = [
        GaussianShell(int(center), int(l), table[:, 0], table[:, 1:])
        for (center, l), table in zip(
            kept["shells"], (kept[f"shell{b:02d}"] for b in range(len(kept["shells"]))), strict=True
        )
    ]
    return GaussianBasis(kept["centers"], shells, cartesian)


@pytest.fixture(scope="module", params=[False, True], ids=["spherical", "cartesian"])
def both(request, stored):
    """All functions one by one, and PySCF's numbers for them."""
    basis = basis_of(stored, request.param)
    numbers = stored["cart" if request.param else "sph"]
    return Gaussians(basis, np.eye(basis.count)), stored["points"], numbers


def test_functions_are_those_of_pyscf(both):
    orbitals, points, numbers = both
    value, slope, laplacian = eqx.filter_jit(orbitals.derivatives)(points.T)
    # Rounding of sums of a few terms as large as the largest entry.
    np.testing.assert_allclose(value, numbers[0], atol=1e-14)
    np.testing.assert_allclose(slope, numbers[1:4], atol=1e-13)
    np.testing.assert_allclose(laplacian, numbers[4], atol=1e-12)


def test_values_slopes_and_derivatives_agree(both):
    orbitals, points, numbers = both
    np.testing.assert_allclose(eqx.filter_jit(orbitals.values)(points.T), numbers[0], atol=1e-14)
    value, slope = eqx.filter_jit(orbitals.slopes)(points.T)
    np.testing.assert_allclose(value, numbers[0], atol=1e-14)
    np.testing.assert_allclose(slope, numbers[1:4], atol=1e-13)


def test_mapped_axes_join_the_points(both):
    orbitals, _, _ = both
    r = np.random.default_rng(1).normal(size=(2, 3, 3, 4))  # walkers, groups, components, electrons
    whole = eqx.filter_jit(orbitals.slopes)(np.moveaxis(r, 2, 0))
    mapped = jax.jit(jax.vmap(jax.vmap(lambda r: orbitals.slopes(r))))(r)
    np.testing.assert_allclose(mapped[0], whole[0], atol=1e-14)
    np.testing.assert_allclose(np.moveaxis(mapped[1], 2, 0), whole[1], atol=1e-13)
    one = eqx.filter_jit(orbitals.values)(r[0, 0, :, 0])
    np.testing.assert_allclose(one, whole[0][0, 0, 0], atol=1e-14)


def test_derivatives_are_those_of_the_values(both):
    orbitals, points, _ = both
    r = points[0]
    _, slope, laplacian = eqx.filter_jit(orbitals.derivatives)(r)
    first = jax.jit(jax.jacrev(lambda r: orbitals.values(r)))(r)
    np.testing.assert_allclose(first.T, slope, atol=1e-12)
    second = jax.jit(jax.hessian(lambda r: orbitals.values(r)))(r)
    np.testing.assert_allclose(jnp.trace(second, axis1=1, axis2=2), laplacian, atol=1e-11)


def test_solid_harmonics_are_orthonormal(l=angular.HIGHEST):
    """∫ S_lm S_l'm' over the unit sphere, by a product rule that is exact for such polynomials."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    angles = 2 * np.pi * np.arange(16) / 16
    c, phi = (a.reshape(-1) for a in np.meshgrid(nodes, angles, indexing="ij"))
    sphere = np.repeat(weights, 16) * 2 * np.pi / 16
    s = np.sqrt(1 - c**2)
    levels = angular.functions(l, False, s * np.cos(phi), s * np.sin(phi), c)
    functions = np.concatenate([angular.norm(n, False) * f for n, f in enumerate(levels)])
    overlap = np.einsum("ip,jp,p->ij", functions, functions, sphere)
    np.testing.assert_allclose(overlap, np.eye((l + 1) ** 2), atol=1e-13)


def test_1s_of_one_gaussian_has_its_kinetic_energy():
    """⟨T⟩ = 3α/2 of a normalized Gaussian, by quadrature of −½φ∇²φ along a ray."""
    alpha = 1.3
    shell = GaussianShell(0, 0, [alpha], [(2 * alpha / np.pi) ** 0.75 * np.sqrt(4 * np.pi)])
    orbital = Gaussians(GaussianBasis([[0.0, 0.0, 0.0]], [shell]), [[1.0]])
    x, w = np.polynomial.legendre.leggauss(60)
    r, w = 4 * (x + 1), 4 * w
    value, _, laplacian = eqx.filter_jit(orbital.derivatives)(np.stack([r, 0 * r, 0 * r]))
    volume = 4 * np.pi * r**2 * w
    assert np.sum(volume * value[:, 0] ** 2) == pytest.approx(1, abs=1e-12)
    assert -0.5 * np.sum(volume * value[:, 0] * laplacian[:, 0]) == pytest.approx(1.5 * alpha)


def test_single_precision_keeps_the_laplacian(stored):
    basis = basis_of(stored, False)
    orbitals = Gaussians(basis, np.random.default_rng(3).normal(size=(basis.count, 4)))
    r = stored["points"].T
    derivatives, values = eqx.filter_jit(orbitals.derivatives), eqx.filter_jit(orbitals.values)
    exact, rounded = derivatives(r), derivatives(r, jnp.float32)
    assert all(x.dtype == jnp.float32 for x in rounded)
    scale = np.max(np.abs(exact[2]))
    # float32 rounds to 6e-8; nothing may have cancelled before.
    np.testing.assert_allclose(rounded[2], exact[2], atol=1e-7 * scale)
    np.testing.assert_allclose(values(r, jnp.float32), exact[0], atol=2e-6)


def test_single_precision_far_from_the_origin(stored):
    """Distances are made in double: a molecule far away loses nothing."""
    basis = basis_of(stored, False)
    away = np.array([3000.0, -2000.0, 1000.0])
    moved = GaussianBasis(basis.centers + away, basis.shells)
    weights = np.eye(basis.count)
    values = eqx.filter_jit(Gaussians.values)
    here = values(Gaussians(basis, weights), stored["points"].T, jnp.float32)
    there = values(Gaussians(moved, weights), stored["points"].T + away[:, None], jnp.float32)
    np.testing.assert_allclose(here, there, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"exponents": [0.0]}, "exponents: must be positive, but are 0 and more"),
        ({"l": 5}, "l: must be at most 4, but is 5"),
        ({"coefficients": [1.0, 2.0]}, "coefficients: must be (1,) or (1, contractions), but"),
    ],
)
def test_impossible_shells_are_refused(arguments, sentence):
    given = {"center": 0, "l": 0, "exponents": [1.0], "coefficients": [1.0], **arguments}
    with pytest.raises(checks.InputError) as refused:
        GaussianShell(**given)
    assert sentence in str(refused.value)


def test_coefficients_must_fit_the_basis():
    shell = GaussianShell(0, 2, [1.0], [1.0])
    with pytest.raises(checks.InputError, match="each of the 5 functions, but have 6"):
        Gaussians(GaussianBasis([[0, 0, 0]], [shell]), np.eye(6))
    with pytest.raises(checks.InputError, match=r"shells\.0\.center: must be one of the 0 centers"):
        GaussianBasis(np.zeros((0, 3)), [shell])
