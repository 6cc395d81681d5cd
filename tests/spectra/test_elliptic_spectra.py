"""Photoelectrons of light with any polarization: planes, spheres, fluxes, against exact packets."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import sph_harm_y

import zitter as zt
from zitter import spectra
from zitter.spectra.directions import directions, harmonics, plane_axes, polar_weights
from zitter.spectra.surface_terms import travelled

RADIAL = zt.RadialBSplines(12, 7, 20.0, "graded", first=0.5)
TURNING = zt.SineSquared(
    cycles=2, frequency=0.6, intensity="6e14 W/cm^2", ellipticity=0.7, polarization="x"
)
OUT_OF_PLANE = zt.SineSquared(
    cycles=2, frequency=0.6, intensity="6e14 W/cm^2", ellipticity=0.7, polarization=(1.0, 1.0, 1.0)
)
WIDTH, RADIUS = 0.7, 8.0


def test_harmonics_are_those_of_scipy():
    where = directions([0.0, 0.3, 1.9, np.pi], [0.0, 0.7, 4.0], None)
    pairs = tuple((l, m) for l in range(5) for m in range(-l, l + 1))
    found = harmonics(pairs, where.vectors.reshape(-1, 3))
    theta, phi = np.meshgrid(where.angles, where.azimuth, indexing="ij")
    expected = [sph_harm_y(l, m, theta.ravel(), phi.ravel()) for l, m in pairs]
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_planes_by_letters_and_by_vectors():
    for letters, first, second in (("xy", 0, 1), ("zx", 2, 0), ("yz", 1, 2)):
        where = directions([0.0, 0.5 * np.pi], 0.0, letters)
        np.testing.assert_allclose(where.vectors, np.eye(3)[[first, second]], atol=1e-15)
    e1, e2 = plane_axes([[1, 1, 0], [0, 2, 1]])
    np.testing.assert_allclose([e1 @ e1, e2 @ e2, e1 @ e2], [1, 1, 0], atol=1e-15)
    np.testing.assert_allclose(np.cross(e1, e2) @ [1, 1, 0], 0, atol=1e-15)
    with pytest.raises(zt.InputError, match="plane: must be spanned by two vectors"):
        directions(None, 0.0, [[1, 0, 0], [2, 0, 0]])
    with pytest.raises(zt.InputError, match="azimuth: must not be given where a plane is"):
        directions(None, 0.3, "xy")
    with pytest.raises(zt.InputError, match="plane: must be one of"):
        directions(None, 0.0, "xx")


def test_polar_weights_are_exact_for_partial_waves():
    for count in (8, 9):
        angles = np.linspace(0, np.pi, count)
        moments = [polar_weights(angles) @ np.cos(angles) ** n for n in range(count)]
        expected = [0 if n % 2 else 2 / (n + 1) for n in range(count)]
        np.testing.assert_allclose(moments, expected, atol=1e-14)
    coarse = np.linspace(0.0, np.pi / 2, 201)
    # Trapezoids: h²/12 = 5e-6 of sin θ
    assert polar_weights(coarse) @ np.ones(201) == pytest.approx(1.0, abs=1e-5)


def carried_packet(pulse, gauge, lmax, end=150.0, step=0.05):
    """ψ(r, t) = g(r − α(t), t) with a free Gaussian g and α = ∫A dt, seen on the sphere. In length
    gauge it is turned by e^{iA·r}, and loses the phase of A²/2 that this one has not.
    """
    times = np.arange(0.0, end, step)
    A, path, quiver = travelled(pulse, times)
    x, w = np.polynomial.legendre.leggauss(lmax + 8)
    count = 2 * lmax + 12
    where = directions(np.arccos(x), 2 * np.pi * np.arange(count) / count, None)
    n = where.vectors.reshape(-1, 3)
    weights = np.repeat(w, count) * 2 * np.pi / count
    pairs = tuple((l, m) for l in range(lmax + 1) for m in range(-l, l + 1))
    onto = (weights * np.conj(harmonics(pairs, n))).T
    spread = WIDTH**2 + 1j * times[:, None]
    along = path @ n.T
    distance = RADIUS**2 - 2 * RADIUS * along + np.sum(path**2, axis=1)[:, None]
    psi = (WIDTH**2 / np.pi) ** 0.75 * spread**-1.5 * np.exp(-distance / (2 * spread))
    slope = -(RADIUS - along) / spread * psi
    if gauge == "length":
        light = A @ n.T
        turn = np.exp(1j * (RADIUS * light - quiver[:, None]))
        psi, slope = turn * psi, turn * (slope + 1j * light * psi)
    surface = np.stack([RADIUS * psi @ onto, (psi + RADIUS * slope) @ onto], axis=-1)
    return SimpleNamespace(
        observables={"surface": surface},
        times_of=lambda name: times,
        info={"surface_radius": RADIUS, "surface_gauges": [gauge]},
    )


@pytest.mark.parametrize("gauge", ["velocity", "length"])
@pytest.mark.parametrize("pulse", [TURNING, OUT_OF_PLANE], ids=["in the plane", "out of it"])
def test_flux_of_a_packet_that_turning_light_carries_along(pulse, gauge):
    """Whatever A is, what passes a sphere has the momenta of g: k (s²/π)^{3/2} e^{−s²k²}."""
    lmax = 9
    basis = zt.SphericalBasis(RADIAL, lmax, m="all")
    made = carried_packet(pulse, gauge, lmax)
    energies = np.array([0.8, 1.5])
    k = np.sqrt(2 * energies)
    exact = (k * (WIDTH**2 / np.pi) ** 1.5 * np.exp(-(WIDTH**2) * k**2))[:, None]
    angles = np.linspace(0, 2 * np.pi, 8)
    for plane in ("xy", "zx"):
        found = spectra.flux_spectrum(made, basis, pulse, RADIUS, energies, angles, plane=plane)
        # What passes after t = 150 is missing.
        np.testing.assert_allclose(found.density / exact, 1.0, atol=8e-3)


@pytest.mark.parametrize(("energy", "step"), [(0.2, 2.6), (0.2, 5.2), (0.5, 2.0), (1.0, 1.0)])
def test_records_too_rare_for_electrons_that_nobody_asked_for(energy, step):
    """Faster electrons stand for slower ones, E + 2π/Δt for E: here by 20 % to factors."""
    weak = zt.SineSquared(cycles=2, frequency=0.6, amplitude=1e-9)
    asked = (zt.SphericalBasis(RADIAL, 0), weak, RADIUS, [energy], [0.3])
    k = np.sqrt(2 * energy)
    exact = k * (WIDTH**2 / np.pi) ** 1.5 * np.exp(-(WIDTH**2) * k**2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        often = spectra.flux_spectrum(carried_packet(weak, "velocity", 0, 400.0, 0.2), *asked)
    assert often.density[0, 0] == pytest.approx(exact, rel=5e-3)
    with pytest.warns(spectra.ConvergenceWarning, match=r"too rarely for the fastest .* save_ever"):
        rare = spectra.flux_spectrum(carried_packet(weak, "velocity", 0, 400.0, step), *asked)
    assert abs(rare.density[0, 0] / exact - 1) > 0.2


def test_records_follow_the_waves_of_electrons_in_strong_light():
    """dΦ/dt reaches (k + |A|)²/2: with A = 1.7 at 0.1 hartree that is 2.4 hartree."""
    strong = zt.SineSquared(cycles=2, frequency=0.3, amplitude=0.6)
    made = carried_packet(strong, "velocity", 0, 60.0, 1.0)
    with pytest.raises(
        zt.InputError, match=r"save_every: must record the surface at least every 0\.442 a\.u\."
    ):
        spectra.flux_spectrum(made, zt.SphericalBasis(RADIAL, 0), strong, RADIUS, [0.1], [0.3])


@pytest.mark.parametrize(
    "pulse",
    [
        zt.HalfCycle(amplitude=0.05, duration=6.0),
        zt.Static(amplitude=0.02, ramp=2.0, duration=8.0),
        zt.Static(amplitude=0.02, ramp=2.0),
    ],
    ids=["half a cycle", "static", "without end"],
)
def test_momenta_are_canonical_where_light_leaves_a_potential_behind(pulse):
    made = carried_packet(pulse, "velocity", 1, 40.0, 0.2)
    A = float(pulse.vector_potential(made.times_of("surface")[-1]))
    asked = (zt.SphericalBasis(RADIAL, 1, m="all"), pulse, RADIUS, [0.8], [0.3])
    with pytest.warns(
        spectra.ConvergenceWarning,
        match=rf"leaves A = \(0, 0, {A:.3g}\) behind: .* canonical momentum k, .* sees k \+ A",
    ):
        spectra.flux_spectrum(made, *asked)


def test_the_whole_sphere():
    basis = zt.SphericalBasis(RADIAL, 7, m="all")
    made = carried_packet(TURNING, "velocity", 7)
    polar, around = np.linspace(0, np.pi, 9), 2 * np.pi * np.arange(6) / 6
    found = spectra.flux_spectrum(made, basis, TURNING, RADIUS, [0.8], polar, around)
    assert found.density.shape == (1, 9, 6)
    k = np.sqrt(1.6)
    exact = 4 * np.pi * k * (WIDTH**2 / np.pi) ** 1.5 * np.exp(-(WIDTH**2) * k**2)
    assert found.over_angles[0] == pytest.approx(exact, rel=8e-3)
    in_plane = spectra.flux_spectrum(made, basis, TURNING, RADIUS, [0.8], around, plane="xy")
    np.testing.assert_allclose(in_plane.density[0], found.density[0, 4], rtol=1e-10)
    with pytest.raises(zt.InputError, match="azimuth: must be an array that divides the circle"):
        _ = in_plane.over_angles
    with pytest.raises(zt.InputError, match="pulse: must be along z, as the basis has one m"):
        spectra.flux_spectrum(made, zt.SphericalBasis(RADIAL, 7), TURNING, RADIUS, [0.8])
    made.info["surface_gauges"] = ["length", "velocity"]
    with pytest.raises(zt.InputError, match="must be a run with light in one gauge"):
        spectra.flux_spectrum(made, basis, TURNING, RADIUS, [0.8])


def test_integrals_over_angles_need_all_of_them():
    polar, energies = np.linspace(0, np.pi, 9), np.array([0.5])
    around = 2 * np.pi * np.arange(12) / 12

    def over_angles(angles, azimuths, **more):
        density = np.ones((1, len(angles), len(azimuths)))
        density += np.cos(azimuths) / 2
        return spectra.AngularSpectrum(energies, angles, density, azimuths, **more).over_angles[0]

    assert over_angles(polar, around) == pytest.approx(4 * np.pi, rel=1e-12)
    assert over_angles(polar, around[::-1] - 3) == pytest.approx(4 * np.pi, rel=1e-12)
    for wrong in (np.linspace(0, 2 * np.pi, 13), around[:1], np.array([0.0, 1.0])):
        with pytest.raises(zt.InputError, match="azimuth: must divide the circle evenly"):
            over_angles(polar, wrong)
    for wrong in (polar[:-1], polar[1:], polar[::-1]):
        with pytest.raises(zt.InputError, match="angles: must rise from 0 to π to integrate"):
            over_angles(wrong, around)


def test_asymmetry_of_what_has_none():
    angles = np.linspace(0, np.pi, 31)
    flat = spectra.AngularSpectrum(np.array([0.5]), angles, np.ones((1, 31)), axial=True)
    # Trapezoids had −0.0046; Clenshaw and Curtis' weights are exact.
    assert flat.asymmetry()[0] == pytest.approx(0.0, abs=1e-13)
    flat.density = 1 + 0.7 * (3 * np.cos(angles) ** 2 - 1)[None] / 2
    assert flat.asymmetry()[0] == pytest.approx(0.7, abs=1e-13)
    flat.axial = False
    with pytest.raises(zt.InputError, match="spectrum: must be the same at each azimuth"):
        flat.asymmetry()
