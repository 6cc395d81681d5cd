"""`zitter plot` of atoms after a pulse: momenta of photoelectrons in the plane of the light."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from marks import slow
from zitter import plot
from zitter.plot.momenta import momenta, plane_of
from zitter.spectra import angular_spectrum

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


def test_an_oblique_line_spans_a_plane_with_its_own_axis():
    first, second = (np.asarray(v) for v in plane_of(pulse(polarization=(1.0, 0.0, 1.0))))
    np.testing.assert_allclose(first, [np.sqrt(0.5), 0, np.sqrt(0.5)], atol=1e-12)
    assert first @ second == pytest.approx(0.0, abs=1e-12)


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
