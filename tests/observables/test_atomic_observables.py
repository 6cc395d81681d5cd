"""Ehrenfest's theorem and simple states on atomic bases."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt

RADIAL = zt.RadialBSplines(40, 6, 24.0, "graded", first=0.4, grading=6.0)
BASIS = zt.SphericalBasis(RADIAL, 3)
ATOM = (zt.Kinetic(), zt.Coulomb(Z=1))
PULSE = zt.SineSquared(cycles=2, frequency=2 * np.pi / 4, amplitude=0.1)


@pytest.fixture(scope="module")
def run():
    H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(PULSE)]), BASIS)
    ground = zt.eigenstates(H.static, 1).states[0]
    observables = [zt.Position(), zt.Dipole(), zt.Momentum(), zt.Acceleration(), zt.Energy()]
    observables += [zt.Ionization(10.0), zt.Surface(12.0), zt.Norm()]
    return zt.evolve(
        H, ground, (0.0, 8.0), 0.02, zt.AngularSplit(4), observables=observables, save_every=2
    )


def slope(values, times):
    return np.gradient(values, times, edge_order=2)[2:-2]


@pytest.mark.slow
def test_ehrenfest(run):
    z, p = run.observables["position"][:, 2], run.observables["momentum"][:, 2]
    force = run.observables["acceleration"][:, 2] - np.asarray(PULSE.electric_field(run.times))
    # Central differences over 0.04 and steps of 0.02: errors of order (ωΔt)²/6 with ω up to 1.6.
    np.testing.assert_allclose(slope(z, run.times), p[2:-2], atol=2e-4)
    np.testing.assert_allclose(slope(p, run.times), force[2:-2], atol=2e-4)
    assert np.abs(p).max() > 0.05
    np.testing.assert_array_equal(run.observables["dipole"], -run.observables["position"])
    assert run.observables["position"].shape == (len(run.times), 3)
    np.testing.assert_array_equal(run.observables["position"][:, :2], 0.0)


def test_energy_starts_at_the_level_and_rises(run):
    energy = run.observables["energy"]
    assert energy[0] == pytest.approx(-0.5, abs=1e-7)
    assert energy[-1] > -0.499


def test_ionization_counts_what_is_outside(run):
    # ∫_R^∞ of 4r²e^{-2r} = (1 + 2R + 2R²) e^{-2R}, at the knot nearest to 10.
    knots = np.asarray(RADIAL.knots)
    edge = knots[np.argmin(np.abs(knots - 10.0))]
    outside = (1 + 2 * edge + 2 * edge**2) * np.exp(-2 * edge)
    assert run.observables["ionization"][0] == pytest.approx(outside, rel=1e-3)


def test_surface_values(run):
    first = run.observables["surface"][0]
    assert first.shape == (4, 2)
    r = 12.0
    expected = [2 * r * np.exp(-r), 2 * (1 - r) * np.exp(-r)]
    np.testing.assert_allclose(first[0].real, expected, atol=1e-8)


def test_eigenstates_see_the_same_dipole():
    states = zt.eigenbasis(zt.discretize(zt.Model(ATOM), BASIS))
    H = zt.discretize(zt.Model([zt.FieldFree(), zt.LengthGauge(PULSE)]), states)
    psi = (states.state(0, 0) + 1j * states.state(1, 0) + states.state(1, 1)) / np.sqrt(3)
    on_splines = states.on_parent(psi)
    spline_H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(PULSE)]), BASIS)
    for observable in (zt.Position(), zt.Momentum(), zt.Acceleration(), zt.Energy()):
        here = observable.evaluate(H, psi.astype(complex), 1.0)
        there = observable.evaluate(spline_H, on_splines.astype(complex), 1.0)
        np.testing.assert_allclose(here, there, atol=1e-10)


def test_refusals():
    H = zt.discretize(zt.Model([*ATOM]), BASIS)
    with pytest.raises(zt.InputError, match="radius: must lie where r is real and below 24"):
        zt.Surface(30.0).prepare(H, zt.eigenstates)
    states = zt.eigenbasis(H)
    inner = zt.discretize(zt.Model([zt.FieldFree()]), states)
    for observable, *refused in (
        (zt.Flux(5.0), inner),
        (zt.Ionization(5.0), inner),
        (zt.KappaPopulations(), H, inner),
        (zt.Surface(5.0), inner),
    ):
        for hamiltonian in refused:
            with pytest.raises(zt.Unsupported, match=f"{type(observable).__name__} "):
                observable.prepare(hamiltonian, zt.eigenstates)


def test_mean_values_are_refused_where_the_state_is_scaled():
    """Before the run: beyond the radius of exterior scaling ψ is not that of the electron."""
    radial = zt.RadialBSplines(20, 6, 24.0, scaling=zt.ExteriorScaling(15.0))
    H = zt.discretize(zt.Model([*ATOM]), zt.SphericalBasis(radial, 1))
    means = (zt.Position(), zt.Dipole(), zt.Momentum(), zt.Acceleration())
    for observable in (*means, zt.Flux(5.0)):
        with pytest.raises(zt.Unsupported, match=r"needs? all of the state"):
            observable.prepare(H, zt.eigenstates)


def test_density_of_hydrogen():
    H = zt.discretize(zt.Model([*ATOM]), BASIS)
    states = zt.eigenbasis(H)
    ground = states.state(0, 0).astype(complex)
    r = BASIS.radial.samples
    assert [name for name, _ in zt.Density().dims(H)] == ["r"]
    for basis, psi in ((BASIS, states.on_parent(ground)), (states, ground)):
        # Between the knots these splines give 1s to about 3e-7.
        np.testing.assert_allclose(basis.density(psi), 4 * r**2 * np.exp(-2 * r), atol=5e-7)


def test_flux_is_the_slope_of_what_is_outside():
    """P_out is quadratic in ψ: a central difference along −iS⁻¹Hψ is its slope at once."""
    H = zt.discretize(zt.Model([*ATOM]), BASIS)
    rng = np.random.default_rng(3)
    psi = jnp.asarray(rng.normal(size=BASIS.shape) + 1j * rng.normal(size=BASIS.shape))
    psi = BASIS.normalize(psi)
    step = -1e-3j * H.apply(psi)
    outside = [float(zt.Ionization(9.0).evaluate(H, psi + s * step, 0.0)) for s in (1, -1)]
    flux = float(zt.Flux(9.0).evaluate(H, psi, 0.0))
    assert flux == pytest.approx((outside[0] - outside[1]) / 2e-3, rel=1e-8)
    assert abs(flux) > 1e-3
