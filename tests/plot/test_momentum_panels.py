"""`zitter plot` of atoms after a pulse: momenta of photoelectrons in the plane of the light."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from marks import slow
from zitter import plot
from zitter.fields.polarization import named
from zitter.observables.space import density_in_plane
from zitter.plot.momenta import momenta, plane_of
from zitter.spectra import AngularSpectrum, angular_spectrum

RADIAL = zt.RadialBSplines(60, 5, 60.0)


def pulse(**more):
    return zt.SineSquared(amplitude=0.01, frequency=1.0, cycles=3, **more)


def run(light, m="all", end=None, absorber=(), observables=()):
    basis = zt.SphericalBasis(RADIAL, lmax=2, m=m)
    terms = [zt.Kinetic(), zt.Coulomb(Z=1), zt.LengthGauge(light), *absorber]
    H = zt.discretize(zt.Model(terms), basis)
    psi = zt.Eigenstate(n=1, l=0).on(H)
    end = float(light.duration) if end is None else end
    return H, zt.evolve(H, psi, (0.0, end), 0.1, observables=list(observables))


def labels(figure):
    return [(ax.get_xlabel(), ax.get_ylabel()) for ax in figure.axes]


@pytest.mark.parametrize(
    ("light", "m", "axes"),
    [
        (pulse(polarization="x", ellipticity=1.0), "all", ("x", "y")),
        slow(pulse(polarization="y"), "all", ("y", "x")),
        slow(pulse(), 0, ("z", r"\perp")),
    ],
    ids=["circular", "along y", "along z"],
)
def test_the_plane_of_the_light_is_drawn(light, m, axes):
    H, sol = run(light, m)
    expected = tuple(f"$k_{{{name}}}$ (a.u.)" for name in axes)
    assert expected in labels(plot.overview(sol))
    found = momenta(sol, light, None)
    assert found is not None
    # One photon above threshold, k = √(2(ω − ½)) = 1, but for the width of three cycles.
    peak = np.max(found.density, axis=1)
    assert found.momenta[np.argmax(peak)] == pytest.approx(1.0, abs=0.1)
    again = angular_spectrum(H, sol.final, found.energies[50:52], found.angles, plane=found.plane)
    np.testing.assert_allclose(found.density[50:52], again.density, rtol=1e-10)


@pytest.mark.parametrize(
    "light",
    [
        pulse(polarization=(0.0, 1.0, 1.0), ellipticity=0.5),
        pulse(polarization=(1.0, 1.0, 1.0), ellipticity=0.5),
        pulse(polarization=(1.0, 1.0, 0.0)) + pulse(polarization="z", cep=1.0),
    ],
    ids=["(0, 1, 1)", "(1, 1, 1)", "two lines"],
)
def test_an_oblique_plane_is_that_of_the_light(light):
    first, second = plane_of(light)
    np.testing.assert_allclose(
        [first @ first, second @ second, first @ second], [1, 1, 0], atol=1e-12
    )
    A = np.asarray(light.vector_potential_xyz(np.linspace(0.0, float(light.duration), 50)))
    np.testing.assert_allclose(A @ np.cross(first, second), 0.0, atol=1e-15)
    flat = AngularSpectrum(
        np.array([0.4, 0.5]), np.array([0.0, 1.0]), np.ones((2, 2)), plane=np.stack([first, second])
    )
    expected = tuple(
        f"k along {name} (a.u.)" if len(name) > 1 else f"$k_{{{name}}}$ (a.u.)"
        for name in (named(first), named(second))
    )
    assert expected in labels(plot.momentum_map(flat))


def test_light_in_no_plane_is_shown_along_its_strongest_axes():
    turning = pulse(polarization="x", ellipticity=1.0)
    assert plane_of(turning) == "xy"
    along_z = zt.SineSquared(amplitude=0.001, frequency=2.0, cycles=6)
    assert plane_of(turning + along_z) == "xy"
    assert plane_of(pulse(polarization="z", ellipticity=1.0)) == "xz"


def test_a_density_in_an_oblique_plane():
    """2p along y in the plane of x and (0, 1, 1)/√2: half of it along the second axis."""
    basis = zt.SphericalBasis(zt.RadialBSplines(20, 5, 20.0), 1, m="all")
    radial = np.zeros(basis.shape, complex)
    radial[basis.row(1, 1)] = radial[basis.row(1, -1)] = np.linspace(1, 0, 20)
    places = np.array([-2.0, 0.0, 2.0])
    straight = np.asarray(density_in_plane(basis, radial, np.eye(3)[:2], places))
    tilted = np.array([[1.0, 0.0, 0.0], [0.0, np.sqrt(0.5), np.sqrt(0.5)]])
    found = np.asarray(density_in_plane(basis, radial, tilted, places))
    np.testing.assert_allclose(found[1], 0.5 * straight[1], rtol=1e-12, atol=1e-15)
    assert straight[1, 2] > 1e-6


def test_an_oblique_line_spans_a_plane_with_its_own_axis():
    first, second = (np.asarray(v) for v in plane_of(pulse(polarization=(1.0, 0.0, 1.0))))
    np.testing.assert_allclose(first, [np.sqrt(0.5), 0, np.sqrt(0.5)], atol=1e-12)
    assert first @ second == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_what_was_absorbed_comes_from_the_flux_through_a_sphere():
    light = pulse()
    absorber = [zt.ComplexAbsorber(width=20.0)]
    _, sol = run(light, 0, absorber=absorber, observables=[zt.Surface(35.0)])
    _, whole = run(light, 0)
    found, projected = momenta(sol, light, None), momenta(whole, light, None)
    assert found is not None and projected is not None
    tops = [s.momenta[np.argmax(np.max(s.density, axis=1))] for s in (found, projected)]
    assert tops[0] == pytest.approx(tops[1], abs=0.05)


def test_nothing_is_drawn_where_light_is_still_on_or_there_is_no_atom():
    light = pulse()
    _, sol = run(light, 0, end=0.5 * float(light.duration))
    assert momenta(sol, light, None) is None
    grid = zt.Grid(64, 0.5)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb(), zt.LengthGauge(light)]), grid)
    on_line = zt.evolve(H, zt.WavePacket().on(grid), (0.0, float(light.duration)), 0.1)
    assert momenta(on_line, light, None) is None
    assert not any("k_" in x for x, _ in labels(plot.overview(on_line)))


def test_nothing_is_drawn_of_an_atom_that_stays_as_it_was():
    weak = zt.SineSquared(amplitude=1e-9, frequency=1.0, cycles=3)
    _, sol = run(weak, 0)
    assert momenta(sol, weak, None) is None
