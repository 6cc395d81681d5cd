"""Hydrogen on B-splines: levels, dipoles, polarizabilities, static-field rates, all known."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from systems import hydrogen
from zitter.bases.spherical import channels


def atom(lmax, *terms, **radial):
    splines = zt.RadialBSplines(**radial)
    model = zt.Model([zt.Kinetic(), zt.Coulomb(Z=1), *terms])
    return zt.discretize(model, zt.SphericalBasis(splines, lmax))


def test_levels():
    H = atom(2, n=130, degree=9, rmax=120.0, knots="graded", first=0.3, grading=30.0)
    energies, _ = zt.channel_states(H, 3)
    for l in range(3):
        expected = [hydrogen.level(n) for n in range(l + 1, l + 4)]
        np.testing.assert_allclose(energies[l], expected, atol=1e-12)
    # The n = 1, 2, 3 shells hold 1 + 2 + 3 states with one m.
    lowest = zt.eigenstates(H, 6)
    np.testing.assert_allclose(lowest.energies, [-1 / 2, *[-1 / 8] * 2, *[-1 / 18] * 3], atol=1e-12)
    assert lowest.residuals.max() < 1e-11
    overlaps = [[H.basis.inner(a, b) for b in lowest.states] for a in lowest.states]
    np.testing.assert_allclose(overlaps, np.eye(6), atol=1e-12)


def test_higher_charges_scale():
    splines = zt.RadialBSplines(60, 8, 10.0, "graded", first=0.05)
    basis = zt.SphericalBasis(splines, 0)
    energies, _ = zt.channel_states(
        zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=5)]), basis), 2
    )
    np.testing.assert_allclose(energies[0], [-12.5, -3.125], atol=1e-10)


def test_dipole_and_polarizabilities():
    basis = zt.eigenbasis(atom(1, n=90, degree=9, rmax=60.0, knots="graded", first=0.3))
    dipoles = np.asarray(basis.length[0, 0])
    gaps = np.asarray(basis.energies[1] - basis.energies[0, 0])
    assert abs(dipoles[0]) == pytest.approx(hydrogen.DIPOLE_1S_2P, abs=1e-10)
    for omega, exact in hydrogen.POLARIZABILITY.items():
        value = np.sum(2 * gaps * dipoles**2 / (gaps**2 - omega**2))
        assert value == pytest.approx(exact, abs=1e-9)  # the references have ten digits
    # Thomas–Reiche–Kuhn: Σ 2 ω |z|² = 1.
    assert np.sum(2 * gaps * dipoles**2) == pytest.approx(1.0, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("field", [0.06, pytest.param(0.08, marks=pytest.mark.slow)])
def test_static_field_rates(field):
    scaling = zt.ExteriorScaling(25.0, 0.5)
    light = zt.LengthGauge(zt.Static(amplitude=field, ramp=1.0))
    H = atom(14, light, n=90, degree=7, rmax=55.0, knots="graded", first=0.3, scaling=scaling)
    found = zt.eigenstates(H.at(2.0), 1, zt.Resonances(near=-0.51 - 0.001j))
    assert "error_bounds" not in found.info  # residuals bound nothing where H is not Hermitian
    energy, rate = hydrogen.STARK[field]
    # Γ has nine digits in the reference; 1e-4 is asked for.
    assert -2 * found.energies[0].imag == pytest.approx(rate, rel=2e-8)
    if energy is not None:
        assert found.energies[0].real == pytest.approx(energy, abs=1e-10)
    assert found.residuals[0] < 1e-12


@pytest.mark.slow
def test_stark_shift_without_scaling():
    # E = −1/2 − αF²/2 − γF⁴/24, γ = 1333.125: dense generalized eigenvalues of coupled channels.
    field = 2e-3
    light = zt.LengthGauge(zt.Static(amplitude=field, ramp=1.0))
    H = atom(3, light, n=30, degree=7, rmax=20.0, knots="graded", first=0.4)
    energy = zt.eigenstates(H.at(2.0), 1).energies[0]
    expected = -0.5 - 4.5 * field**2 / 2 - 1333.125 * field**4 / 24
    assert energy == pytest.approx(expected, abs=2e-11)


def test_refusals():
    light = zt.LengthGauge(zt.Static(amplitude=0.1, ramp=1.0))
    H = atom(1, light, n=20, degree=5, rmax=10.0)
    with pytest.raises(zt.Unsupported, match=r"use H\.static"):
        zt.channel_states(H.at(2.0))
    turned = atom(1, n=30, degree=5, rmax=20.0, scaling=zt.ExteriorScaling(10.0))
    with pytest.raises(zt.Unsupported, match=r"exterior scaling .* use Resonances\(near=…\)"):
        zt.eigenstates(turned.static, 1)
    with pytest.raises(zt.InputError, match="energy_max: must leave states in every l"):
        zt.eigenbasis(H.static, energy_max=-0.3)
    with pytest.raises(zt.InputError, match=r"^states: must be at most 20, but is 500"):
        zt.eigenbasis(H.static, states=500)
    with pytest.raises(zt.InputError, match=r"^states: must not be given together with"):
        zt.eigenbasis(H.static, states=5, energy_max=1.0)
    grid = zt.discretize(zt.Model([zt.Kinetic()]), zt.Grid(16, 0.5))
    with pytest.raises(zt.Unsupported, match=r"Resonances needs .* whose states decay"):
        zt.eigenstates(grid, 1, zt.Resonances(near=0.0))


@pytest.mark.parametrize("order", [4, "spectral"])
def test_decaying_states_of_a_grid_with_an_absorber(order):
    """A well that leaks into an absorber: the level nearest to an energy, sparse and dense."""
    well = zt.Potential(expression="2*x**2*exp(-0.3*x**2)")
    model = zt.Model([zt.Kinetic(order=order), well, zt.ComplexAbsorber(4.0)])
    H = zt.discretize(model, zt.Grid(120, 0.2))
    found = zt.eigenstates(H, 1, zt.Resonances(near=1.6))
    levels = np.linalg.eigvals(np.asarray(H.as_matrix()))
    nearest = levels[np.argmin(np.abs(levels - 1.6))]
    assert found.energies[0] == pytest.approx(nearest, abs=1e-11)
    assert found.energies[0].imag < -1e-4 and found.residuals[0] < 1e-10
    assert float(H.basis.norm(found.states[0])) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("n, solved", [(1, 1), (3, 2), (12, 5)])
def test_channels_that_lie_above_are_not_solved(monkeypatch, n, solved):
    """Of the twelve lowest at m = 0 the last have n = 5: five channels hold one of them."""
    H = atom(9, n=60, degree=7, rmax=90.0)
    every = np.sort(channels.channels_of(H.basis, H.operator).states(n)[0], axis=None)[:n]
    calls, inside = [], channels._lowest_of
    monkeypatch.setattr(
        channels, "_lowest_of", lambda *given: calls.append(given) or inside(*given)
    )
    found = zt.eigenstates(H, n)
    np.testing.assert_allclose(found.energies, every, rtol=1e-12)
    assert found.residuals.max() < 1e-9
    assert len(calls) <= solved + 1  # one that is degenerate with the last within rounding
