"""Quark potentials: limits, units, and levels against radial calculations."""

import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt

BOTTOM, ALPHA, SIGMA = 4.7, 0.385, 0.223  # GeV, 1, GeV²


def radial(term, mass, n=3):
    basis = zt.SphericalBasis(zt.RadialBSplines(200, 8, 30.0), 1)
    return zt.eigenstates(zt.discretize(zt.Model([zt.Kinetic(mass), term]), basis), n).energies


def cartesian(term, mass, n, points, spacing):
    H = zt.discretize(zt.Model([zt.Kinetic(mass), term]), zt.Grid((points,) * 3, spacing))
    return zt.eigenstates(H, n, zt.LOBPCG(tol=1e-6))


@pytest.mark.slow
def test_cornell_levels_of_bottomonium():
    """1S, 1P ×3 on two grids against the bare −α/r + σr in B-splines: at least fourth order."""
    mass = BOTTOM / 2
    exact = radial(zt.Potential(lambda r: -ALPHA / r + SIGMA * r), mass)[[0, 1, 1, 1]]
    term = zt.Cornell(ALPHA, SIGMA, mass)
    coarse = np.abs(cartesian(term, mass, 4, 26, 0.48).energies - exact).max()
    found = cartesian(term, mass, 4, 35, 0.36).energies
    fine = np.abs(found - exact).max()
    assert np.log(coarse / fine) / np.log(0.48 / 0.36) > 3.5
    assert fine < 6e-4  # GeV
    assert 2 * BOTTOM + found[0] == pytest.approx(9.46, abs=0.1)  # Υ(1S)


def test_weak_screening_gives_back_cornell():
    grid = zt.Grid((9, 9, 9), 0.4)

    def values(term):
        return np.asarray(
            zt.discretize(zt.Model([zt.Kinetic(), term]), grid).operator.parts[1].full()
        )

    plain = values(zt.Cornell(ALPHA, SIGMA))
    # −(α/r)e^{−μr} = −α/r + αμ + O(μ²): the constant goes with μ.
    screened = values(zt.ScreenedCornell(ALPHA, SIGMA, 1e-6))
    np.testing.assert_allclose(screened, plain, atol=1e-5)
    same = values(zt.AnisotropicCornell(ALPHA, SIGMA, 0.3, 0.0))
    np.testing.assert_allclose(same, values(zt.ScreenedCornell(ALPHA, SIGMA, 0.3)), atol=1e-14)


@pytest.mark.slow
def test_anisotropy_splits_the_p_states():
    """ξ > 0 weakens the screening along z: the state along z differs from the two across."""
    mass = BOTTOM / 2
    term = zt.AnisotropicCornell(ALPHA, SIGMA, 0.4, 1.0, mass)
    levels = cartesian(term, mass, 4, 35, 0.36).energies
    gaps = np.diff(levels[1:])
    assert np.sort(gaps)[0] < 1e-8  # the two across stay degenerate
    assert np.sort(gaps)[1] > 1e-3


@pytest.mark.parametrize(
    ("direction", "part"),
    [((0.0, 0.0, 1.0), 4), ((1.0, 0.0, 0.0), 2), ((0.6, 0.8, 0.0), 2), ((0.0, 1.0, -1.0), 3)],
    ids=["along", "across", "oblique across", "45 degrees"],
)
def test_screening_by_direction(direction, part):
    """μ = m_D[1 − ξ(3 + cos 2θ)/16]: ξ/4 off along z, ξ/8 across, 3ξ/16 at 45°, where cos 2θ is
    1, −1 and 0. In each direction it is the plain screened potential of that μ."""
    debye, xi = 0.4, 1.2
    places = np.outer(direction / np.linalg.norm(direction), [0.3, 1.0, 4.0])
    found = zt.AnisotropicCornell(ALPHA, SIGMA, debye, xi).remainder(*places)
    plain = zt.ScreenedCornell(ALPHA, SIGMA, debye * (1 - part * xi / 16)).remainder(*places)
    np.testing.assert_allclose(found, plain, rtol=1e-12)


def test_refusals():
    with pytest.raises(zt.InputError, match="anisotropy: must be below 4"):
        zt.AnisotropicCornell(ALPHA, SIGMA, 0.4, 5.0)
    with pytest.raises(zt.Unsupported, match="three dimensions"):
        zt.discretize(zt.Model([zt.Kinetic(), zt.Cornell(0.4, 0.2)]), zt.Grid(9, 0.1))
    assert jnp.isfinite(zt.Cornell(0.4, 0.2).alpha)
