"""The electron–nucleus cusp of Gaussian orbitals."""

from __future__ import annotations

import itertools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import zitter.qmc as qmc
from zitter.qmc import GaussianBasis, Gaussians, GaussianShell, Nucleus, cusp_corrected
from zitter.qmc.orbitals.cusps import SPart, cusp, joined
from zitter.qmc.systems.nuclei import Nuclei
from zitter.qmc.systems.pseudopotentials import GaussianSum, Pseudopotential

DATA = "tests/data/cusps.npz"  # see make_cusps.py there


@pytest.fixture(scope="module")
def stored():
    with np.load(DATA) as kept:
        return dict(kept)


def read(kept, name):
    """Orbitals and nuclei of a molecule."""
    shells = []
    for b, (center, l) in enumerate(kept[f"{name}_shells"]):
        table = kept[f"{name}_shell{b}"]
        shells.append(GaussianShell(int(center), int(l), table[:, 0], table[:, 1:]))
    basis = GaussianBasis(kept[f"{name}_centers"], shells)
    charges = kept[f"{name}_charges"]
    nuclei = [
        Nucleus(float(Z), place) for Z, place in zip(charges, kept[f"{name}_centers"], strict=True)
    ]
    return Gaussians(basis, kept[f"{name}_coefficients"]), Nuclei(nuclei)


def sphere(radius, center):
    """36 points, whose average is exact for harmonics up to l = 5, and the directions."""
    nodes, weights = np.polynomial.legendre.leggauss(4)
    angles = 2 * np.pi * np.arange(9) / 9
    c, phi = (x.reshape(-1) for x in np.meshgrid(nodes, angles, indexing="ij"))
    s = np.sqrt(1 - c * c)
    way = np.stack([s * np.cos(phi), s * np.sin(phi), c])
    return np.asarray(center)[:, None] + radius * way, way, np.repeat(weights, 9) / 18


@pytest.mark.parametrize("name", ["He", "Be", "LiH"])
def test_cusp_is_minus_z(stored, name):
    """d ln⟨φ⟩/dr = −Z at each nucleus, ⟨⟩ over directions."""
    gaussians, nuclei = read(stored, name)
    slopes = eqx.filter_jit(cusp_corrected(gaussians, nuclei).slopes)
    bare_slopes = eqx.filter_jit(gaussians.slopes)
    radius = 1e-6
    for charge, place in zip(nuclei.charges, nuclei.positions, strict=True):
        points, way, weights = sphere(radius, place)
        value, slope = slopes(points)
        mean = weights @ value
        radial = weights @ jnp.sum(slope * way[:, :, None], axis=0)
        # The curvature, some Z², enters times the radius.
        np.testing.assert_allclose(radial / mean, -charge, rtol=1e-4)
        bare_value, bare_slope = bare_slopes(points)
        bare = weights @ jnp.sum(bare_slope * way[:, :, None], axis=0) / (weights @ bare_value)
        assert np.all(np.abs(bare) < 0.01 * charge)


def test_paths_agree_and_nothing_changes_outside(stored):
    gaussians, nuclei = read(stored, "LiH")
    corrected = cusp_corrected(gaussians, nuclei)
    rng = np.random.default_rng(4)
    near = nuclei.positions[:, :, None] + 0.2 * rng.normal(size=(2, 3, 5))
    points = np.concatenate([*near, rng.normal(size=(3, 5)) + np.array([[3.0], [0], [1.5]])], 1)
    value, slope, laplacian = eqx.filter_jit(corrected.derivatives)(points)
    np.testing.assert_allclose(eqx.filter_jit(corrected.values)(points), value, atol=1e-13)
    np.testing.assert_allclose(eqx.filter_jit(corrected.slopes)(points)[1], slope, atol=1e-12)
    bare = eqx.filter_jit(gaussians.derivatives)(points)
    np.testing.assert_array_equal(value[10:], bare[0][10:])
    np.testing.assert_array_equal(laplacian[10:], bare[2][10:])
    assert np.max(np.abs(value[:5] - bare[0][:5])) > 1e-4
    single = eqx.filter_jit(corrected.values)(points, jnp.float32)
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, value, atol=1e-6)


def test_joined_with_two_derivatives(stored):
    """Value, slope and Laplacian of the orbitals of Be are continuous at r_c."""
    gaussians, nuclei = read(stored, "Be")
    corrected = cusp_corrected(gaussians, nuclei)
    derivatives = eqx.filter_jit(corrected.derivatives)
    for j, radius in enumerate(corrected.patches.radii[0]):
        assert 0.02 < radius < 0.25
        r = radius * np.array([1 - 1e-7, 1 + 1e-7])
        value, slope, laplacian = map(np.asarray, derivatives(np.stack([r, 0 * r, 0 * r])))
        for part, tolerance in ((value, 1e-6), (slope[0], 1e-5), (laplacian, 1e-4)):
            # A step of 2e-7 r_c changes each by its slope times that, and not more.
            assert part[0, j] == pytest.approx(part[1, j], rel=tolerance)


def test_powers_solve_the_five_conditions():
    part = SPart(np.array([10.0, 2.0, 0.4]), np.array([0.3, 0.5, 0.2]))
    radius, charge, rest = 0.4, 1.7, 0.2
    start = 1.1
    a = joined(part, charge, rest, radius, np.array([start]))[:, 0]
    p = np.polynomial.Polynomial(a)
    s, first, second = (x[0] for x in part.derivatives(np.array([radius])))
    assert np.exp(p(0)) == pytest.approx(start)
    assert p.deriv()(0) * start == pytest.approx(-charge * (start + rest))
    assert np.exp(p(radius)) == pytest.approx(s)
    assert p.deriv()(radius) == pytest.approx(first / s)
    assert p.deriv(2)(radius) + p.deriv()(radius) ** 2 == pytest.approx(second / s)


@pytest.mark.parametrize("name", ["He", "Be"])
def test_energy_stays_and_local_energy_calms(stored, name):
    """∫ of −½∇²φ − Zφ/r for each orbital by radial quadrature: mean, and mean square deviation."""
    gaussians, nuclei = read(stored, name)
    charge = nuclei.charges[0]
    x, w = np.polynomial.legendre.leggauss(40)
    edges = np.concatenate([[0], np.geomspace(1e-4, 20, 30)])
    r = np.concatenate([(b - a) / 2 * (x + 1) + a for a, b in itertools.pairwise(edges)])
    w = np.concatenate([(b - a) / 2 * w for a, b in itertools.pairwise(edges)])
    found = []
    for orbitals in (gaussians, cusp_corrected(gaussians, nuclei)):
        derivatives = eqx.filter_jit(orbitals.derivatives)
        value, _, laplacian = derivatives(np.stack([r, 0 * r, 0 * r]))
        acted = -0.5 * laplacian - charge * value / r[:, None]
        volume = 4 * np.pi * (w * r**2)[:, None]
        norm = np.sum(volume * value**2, axis=0)
        mean = np.sum(volume * value * acted, axis=0) / norm
        spread = np.sum(volume * acted**2, axis=0) / norm - mean**2
        found.append((norm, mean, spread))
    (norm, mean, spread), (new_norm, new_mean, new_spread) = found
    np.testing.assert_allclose(norm, 1, atol=1e-6)
    # A third of a 1s electron is within 1/Z, where its density changes by a percent.
    np.testing.assert_allclose(new_norm, 1, atol=5e-3)
    np.testing.assert_allclose(new_mean, mean, atol=5e-3 * charge)
    assert new_spread[0] < 0.3 * spread[0]
    assert np.all(new_spread < spread)


def test_pseudopotentials_and_p_orbitals_are_left_alone(stored):
    gaussians, nuclei = read(stored, "LiH")
    potential = Pseudopotential(1.0, GaussianSum([1.0], [1.0], [0]), (), "test")
    soft = Nuclei([Nucleus(None, place, "X", potential) for place in nuclei.positions])
    assert cusp_corrected(gaussians, soft).patches.positions.shape == (0, 3)
    mixed = Nuclei(
        [Nucleus(3.0, nuclei.positions[0]), Nucleus(None, nuclei.positions[1], "H", potential)]
    )
    assert cusp_corrected(gaussians, mixed).patches.positions.shape == (1, 3)
    shell = GaussianShell(0, 1, [1.0], [1.0])
    p = Gaussians(GaussianBasis([[0, 0, 0]], [shell]), np.eye(3))
    corrected = cusp_corrected(p, Nuclei([Nucleus(1.0)]))
    r = np.array([[0.1], [0.2], [0.0]])
    values = eqx.filter_jit(lambda orbitals: orbitals.values(r))
    np.testing.assert_array_equal(values(corrected), values(p))


def test_a_node_near_the_nucleus_leaves_no_room():
    part = SPart(np.array([3000.0, 1.0]), np.array([2.0, -1.0]))
    assert cusp(part, 1.0, 0.0, np.inf).radius == 0


@pytest.mark.slow
def test_monte_carlo_gives_the_energy_of_hartree_and_fock(stored):
    gaussians, nuclei = read(stored, "Be")
    atom = qmc.Electrons((2, 2), [Nucleus(4.0)])
    variances = []
    for orbitals in (gaussians, cusp_corrected(gaussians, nuclei)):
        psi = qmc.SlaterJastrow(atom, [], orbitals)
        out = qmc.vmc(psi, walkers=1000, blocks=40, seed=3)
        # The correction moves the energy by less than a millihartree per orbital.
        assert abs(out.energy - stored["Be_energy"]) < 4 * out.energy_error + 2e-3
        variances.append(out.variance)
    assert variances[1] < 0.5 * variances[0]
