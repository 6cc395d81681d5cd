"""The angular part: unit vectors and gradients between channels, metric, refusals."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import sph_harm_y

import zitter as zt
from zitter.linalg.angular_coupling import AngularCoupling
from zitter.linalg.bands import host_dense

RADIAL = zt.RadialBSplines(24, 5, 16.0, "graded", first=0.3, grading=5.0)
ALL = zt.SphericalBasis(RADIAL, 2, m="all")


def matrices(operator):
    """x, y, z or p as matrices that act on coefficients: S⁻¹O."""
    inverse = np.kron(np.eye(ALL.shape[0]), RADIAL.inverse_overlap)
    return [inverse @ np.asarray(operator(unit).as_matrix()) for unit in np.eye(3)]


def test_components_of_the_unit_vector():
    units = [f * n for f, n, _ in (ALL.direction(c) for c in range(3))]
    for unit in units:
        np.testing.assert_allclose(unit, unit.conj().T, atol=1e-15)
    # n² = 1 where lmax does not cut: between channels of l ≤ 1.
    square = sum(unit @ unit for unit in units)[:4, :4]
    np.testing.assert_allclose(square, np.eye(4), atol=1e-15)
    # L = −i n × (r∇) mixes nothing but m; [n_x, n_y] = 0.
    commutator = units[0] @ units[1] - units[1] @ units[0]
    np.testing.assert_allclose(commutator[:4, :4], 0, atol=1e-15)


def test_light_of_any_direction_is_the_product_with_full_matrices():
    """u·r and u·p against integrals over the sphere, in one product and by its own matrix; the
    integrals are exact but for rounding."""
    basis = zt.SphericalBasis(RADIAL, 4, m="all")
    cosines, weights = np.polynomial.legendre.leggauss(8)
    phi = 2 * np.pi * np.arange(12) / 12
    theta = np.arccos(cosines)[:, None] + 0 * phi
    n = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    harmonics = np.stack([sph_harm_y(l, m, theta, phi) for l, m in basis.channels])
    measure = weights[:, None] * 2 * np.pi / 12
    units = np.einsum("atp,ctp,btp,tp->cab", harmonics.conj(), n, harmonics, measure)
    l = basis.l
    slopes = np.where(l[:, None] > l, -l[:, None], l) * units
    u = np.array([0.3, -0.8, 0.5])
    r, derivative, inverse = (
        host_dense(RADIAL.matrix(*args))
        for args in ((lambda r: r,), (1.0, 0, 1), (lambda r: 1 / r,))
    )
    N, K = (np.einsum("c,cab->ab", u, matrices) for matrices in (units, slopes))
    psi = np.random.default_rng(1).normal(size=(2, *basis.shape)).T @ [1, 1j]
    psi = psi.T
    for operator, matrix in (
        (basis.position(u), np.kron(N, r)),
        (basis.momentum(u), -1j * (np.kron(N, derivative) + np.kron(K, inverse))),
    ):
        assert isinstance(operator, AngularCoupling)  # x, y and z light in one
        scale = np.abs(matrix).max()
        np.testing.assert_allclose(operator.as_matrix(), matrix, atol=1e-13 * scale)
        image = (matrix @ psi.ravel()).reshape(basis.shape)
        np.testing.assert_allclose(operator.apply(jnp.asarray(psi)), image, atol=1e-13 * scale * 10)


def test_light_takes_memory_in_proportion_to_the_channels():
    """l ≤ 60: a full matrix between the 3721 channels would be 111 MB."""
    basis = zt.SphericalBasis(RADIAL, 60, m="all")
    momentum = basis.momentum([1.0, 0.5, 0.0])
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(momentum)) < 0.6e6
    psi = jnp.zeros(basis.shape).at[basis.row(7, -3)].set(1.0)
    reached = np.flatnonzero(np.any(np.asarray(momentum.apply(psi)) != 0, axis=1))
    expected = [basis.row(l, m) for l in (6, 8) for m in (-4, -2)]
    assert list(reached) == sorted(expected)


def test_position_and_momentum_commute_to_i():
    positions, momenta = matrices(ALL.position), matrices(ALL.momentum)
    # A smooth state within l ≤ 1, far from both ends of the radial basis.
    psi = np.zeros(ALL.shape, complex)
    psi[0] = RADIAL.project(lambda r: r**2 * np.exp(-r))
    psi[2] = 0.5j * RADIAL.project(lambda r: r**3 * np.exp(-r))
    psi = psi.reshape(-1)
    overlap = np.kron(np.eye(ALL.shape[0]), host_dense(RADIAL.overlap))
    norm = np.real(psi.conj() @ overlap @ psi)
    for a in range(3):
        for b in range(3):
            commutator = positions[a] @ momenta[b] - momenta[b] @ positions[a]
            value = psi.conj() @ overlap @ commutator @ psi / norm
            # The splines resolve these functions to about 1e-5.
            assert value == pytest.approx(1j * (a == b), abs=2e-4)


def test_kinetic_energy_is_half_the_square_of_the_momentum():
    psi = np.zeros(ALL.shape)
    psi[0] = RADIAL.project(lambda r: r**2 * np.exp(-r))
    flat = psi.reshape(-1)
    kinetic = zt.discretize(zt.Model([zt.Kinetic()]), ALL).as_matrix()
    images = [np.asarray(ALL.momentum(unit).as_matrix()) @ flat for unit in np.eye(3)]
    inverse = np.kron(np.eye(ALL.shape[0]), RADIAL.inverse_overlap)
    square = sum(image.conj() @ inverse @ image for image in images) / 2
    assert square == pytest.approx(float(flat @ kinetic @ flat), rel=1e-4)


def test_inner_product_overlap_and_its_inverse():
    basis = zt.SphericalBasis(RADIAL, 3)
    rng = np.random.default_rng(1)
    psi = jnp.asarray(rng.normal(size=basis.shape) + 1j * rng.normal(size=basis.shape))
    np.testing.assert_allclose(basis.solve_overlap(basis.overlap(psi)), psi, atol=1e-9)
    dense = host_dense(RADIAL.overlap)
    expected = sum(np.vdot(row, dense @ row) for row in np.asarray(psi))
    assert complex(basis.inner(psi, psi)) == pytest.approx(expected, rel=1e-13)
    hydrogen = jnp.zeros(basis.shape).at[0].set(RADIAL.project(lambda r: 2 * r * np.exp(-r)))
    assert float(basis.norm(hydrogen)) == pytest.approx(1.0, abs=1e-7)


def test_channels_and_axes():
    assert ALL.shape == (9, 24) and ALL.channels[:3] == ((0, 0), (1, -1), (1, 0))
    fixed = zt.SphericalBasis(RADIAL, 5, m=-2)
    assert fixed.shape == (4, 24)
    np.testing.assert_array_equal(fixed.axes()["l"], [2, 3, 4, 5])
    assert fixed.row(3) == 1


def test_light_off_the_axis_needs_every_m():
    pulse = zt.SineSquared(cycles=2, frequency=1.0, amplitude=0.1, polarization="x")
    for gauge in (zt.LengthGauge, zt.VelocityGauge):
        with pytest.raises(zt.Unsupported, match='m="all"'):
            zt.discretize(zt.Model([zt.Kinetic(), gauge(pulse)]), zt.SphericalBasis(RADIAL, 2))


def test_bad_input_is_refused():
    with pytest.raises(zt.InputError, match="m: must be at most 2, but is 3"):
        zt.SphericalBasis(RADIAL, 2, m=3)
    with pytest.raises(zt.InputError, match="radial: must be a RadialBSplines"):
        zt.SphericalBasis(3, 2)  # type: ignore[arg-type]
    with pytest.raises(zt.InputError, match="l: must be a channel"):
        ALL.row(3, 0)
