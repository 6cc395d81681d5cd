"""The offset of an attoclock from distributions whose maximum is known; pictures in the plane."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from zitter import plot, spectra

ENERGIES = np.linspace(0.05, 1.0, 60)


def pulse(ellipticity=1.0):
    return zt.SineSquared(
        cycles=2, frequency=0.057, intensity="1e14 W/cm^2", ellipticity=ellipticity,
        polarization="x",
    )  # fmt: skip


def distribution(center, count=180, plane="xy"):
    """A ridge at k = 0.8 and at one angle."""
    angles = 2 * np.pi * np.arange(count) / count
    k = np.sqrt(2 * ENERGIES)[:, None]
    ridge = np.exp(-(((k - 0.8) / 0.1) ** 2) + 3 * np.cos(angles - center))
    return spectra.AngularSpectrum(ENERGIES, angles, k * ridge, plane=plane)


@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_the_offset_is_counted_with_the_rotation(turn):
    light = pulse(turn)
    middle = 0.5 * float(light.duration)
    A = np.asarray(light.vector_potential_xyz(middle))
    expected = np.arctan2(-A[1], -A[0])
    found = spectra.attoclock_offset(distribution(expected + 0.3), light)
    # E is largest in the middle, by symmetry; 40001 times find it.
    assert found.offset == pytest.approx(turn * 0.3, abs=1e-3)
    assert found.angle == pytest.approx((expected + 0.3) % (2 * np.pi), abs=1e-9)
    assert found.spread == 0.0
    several = {40: distribution(expected + 0.5), 60: distribution(expected + 0.35)}
    several[80] = distribution(expected + 0.3)
    found = spectra.attoclock_offset(several, light)
    assert found.offset == pytest.approx(turn * 0.3, abs=1e-3)
    assert found.spread == pytest.approx(0.2, abs=1e-9)
    assert list(found.offsets) == [40, 60, 80]
    assert repr(found).startswith(f"AttoclockOffset: {np.degrees(found.offset):.2f} ± 11.46°")


def test_what_cannot_be_an_attoclock():
    light = pulse()
    with pytest.raises(zt.InputError, match='must lie in the plane of polarization, plane = "xy"'):
        spectra.attoclock_offset(distribution(0.0, plane=None), light)
    with pytest.raises(zt.InputError, match="angles: must resolve the distribution, but 8 of them"):
        spectra.attoclock_offset(distribution(0.1, count=8), light)
    part = distribution(0.0)
    part.angles = part.angles[:90]
    part.density = part.density[:, :90]
    with pytest.raises(zt.InputError, match="angles: must go once around in equal steps"):
        spectra.attoclock_offset(part, light)
    linear = zt.SineSquared(cycles=2, frequency=0.057, intensity="1e14 W/cm^2", polarization="x")
    with pytest.raises(zt.InputError, match="pulse: must turn in the plane of the spectrum"):
        spectra.attoclock_offset(distribution(0.0), linear)
    with pytest.raises(zt.InputError, match="spectra: must be at least one"):
        spectra.attoclock_offset({}, light)


def test_the_picture_is_that_of_the_plane():
    axes = plot.momentum_map(distribution(0.5 * np.pi)).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("$k_{x}$ (a.u.)", "$k_{y}$ (a.u.)")
    mesh = axes.collections[0]
    x, y = np.moveaxis(np.asarray(mesh.get_coordinates()), -1, 0)
    assert x.shape == (60, 181)  # closed
    np.testing.assert_allclose([x[:, -1], y[:, -1]], [x[:, 0], y[:, 0]], atol=1e-12)
    brightest = np.unravel_index(np.argmax(mesh.get_array()), x.shape)
    assert y[brightest] == pytest.approx(0.8, abs=0.02)
    assert x[brightest] == pytest.approx(0.0, abs=0.02)
    sphere = distribution(0.0)
    sphere.density = sphere.density[..., None]
    with pytest.raises(zt.InputError, match="must lie in a plane, or at one azimuth"):
        plot.momentum_map(sphere)


def circular_run(observables):
    light = zt.SineSquared(
        cycles=2, frequency=0.8, intensity="1e14 W/cm^2", ellipticity=1.0, polarization="x"
    )
    radial = zt.RadialBSplines(30, 5, 25.0, "graded", first=0.5, grading=6.0)
    basis = zt.SphericalBasis(radial, 2, m="all")
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1), zt.LengthGauge(light)]), basis)
    ground = zt.eigenstates(H.static, 1).states[0]
    return zt.evolve(H, ground, (0.0, 10.0), 0.1, zt.AngularSplit(), observables, save_every=10)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:lmax")
def test_density_in_a_plane(tmp_path):
    run = circular_run([zt.Norm(), zt.Density(every=5, plane="xy", extent=12.0, points=25)])
    density, x = run.observables["density"], np.linspace(-12, 12, 25)
    assert density.shape == (3, 25, 25)
    basis, psi = run.basis, run.final
    # Place by place, as `evaluate` has it, and off the plane by the way of all angles.
    for i, j in ((3, 20), (12, 12), (12, 5)):
        exact = np.abs(complex(np.asarray(basis.evaluate(psi, x[i], x[j], 0.0)))) ** 2
        # At the nucleus splines leave 1e-7 of p waves.
        assert density[-1, i, j] == pytest.approx(exact, rel=1e-6 if i == j == 12 else 1e-10)
    places = np.array([[1.0, 2.0, -3.0], [0.5, -1.0, 2.0], [1e-7, -1e-7, 1e-7]])
    apart = np.asarray(basis.evaluate(psi, *places))  # different cos θ: the general way
    together = np.asarray(basis.evaluate(psi, places[0], places[1], 0.0))
    np.testing.assert_allclose(together, apart, rtol=1e-5)
    run.save(tmp_path / "run.h5")
    again = zt.load(tmp_path / "run.h5")
    picture = plot.density(again)
    assert picture.axes[0].get_ylabel() == "y (bohr)"
    assert any(ax.get_ylabel() == "|ψ|² (1/bohr³)" for ax in picture.axes)
    plot.animate(again, tmp_path / "film.gif")
    assert (tmp_path / "film.gif").stat().st_size > 1000
    labels = {(ax.get_xlabel(), ax.get_ylabel()) for ax in plot.overview(again).axes}
    assert ("x (bohr)", "y (bohr)") in labels


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:lmax")
def test_the_overview_of_light_that_turns_is_in_its_plane():
    run = circular_run([zt.Norm(), zt.Acceleration()])
    figure = plot.overview(run)
    labels = {(ax.get_xlabel(), ax.get_ylabel()) for ax in figure.axes}
    assert ("x (bohr)", "y (bohr)") in labels
    (emitted,) = (ax for ax in figure.axes if ax.get_title() == "Emitted light")
    plus, minus = emitted.lines[:2]
    assert (plus.get_label(), minus.get_label()) == ("turns x → y", "turns y → x")
    # Circular light of two cycles has little of the other sense.
    place = int(np.argmax(plus.get_ydata()))
    assert minus.get_ydata()[place] < 0.01 * plus.get_ydata()[place]


def test_refusals_of_planes():
    grid = zt.Grid((16, 16), 0.5)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), grid)
    psi = grid.normalize(grid.sample(lambda x, y: np.exp(-(x**2) - y**2)))
    with pytest.raises(zt.InputError, match=r"observables\.0: .* Density in a plane is for bases"):
        zt.evolve(H, psi, (0.0, 0.1), 0.1, observables=[zt.Density(plane="xy")])
    with pytest.raises(zt.InputError, match="plane: must be one of"):
        zt.Density(plane="xw")


def test_energies_that_fall_or_are_alone_are_refused():
    """Trapezoids would turn W over, and its lowest place would be the highest."""
    light, falling = pulse(1.0), distribution(0.3)
    falling.energies, falling.density = falling.energies[::-1], falling.density[::-1]
    with pytest.raises(zt.InputError, match=r"energies: must be at least two, .* do not all rise"):
        spectra.attoclock_offset(falling, light)
    alone = distribution(0.3)
    alone.energies, alone.density = alone.energies[:1], alone.density[:1]
    with pytest.raises(zt.InputError, match=r"energies: must be at least two, .* is only one"):
        spectra.attoclock_offset(alone, light)
    both = spectra.PhotoelectronSpectrum(np.array([0.2, 0.1]), np.ones((1, 2)), np.array([0]))
    with pytest.raises(zt.InputError, match="energies: must be at least two"):
        _ = both.probability


def test_a_distribution_without_a_maximum_is_refused():
    empty = distribution(0.3)
    empty.density = 0 * empty.density
    with pytest.raises(zt.InputError, match=r"spectra: must have W\(φ\) above zero somewhere"):
        spectra.attoclock_offset(empty, pulse(1.0))
    empty.density = 0 * empty.density + 1
    with pytest.raises(zt.InputError, match="spectra: must have a maximum of W"):
        spectra.attoclock_offset(empty, pulse(1.0))
