"""Pictures of photoelectrons: the numbers that are drawn, in the units that are written."""

from __future__ import annotations

import numpy as np
import pytest

from zitter import plot, units
from zitter.spectra import AngularSpectrum, PhotoelectronSpectrum, SpinorSpectrum

ENERGIES = np.linspace(0.02, 1.5, 60)


def spectrum(scale=1.0):
    per_l = scale * np.stack([np.exp(-ENERGIES), 0.1 * np.exp(-((ENERGIES - 0.5) ** 2) / 0.01)])
    return PhotoelectronSpectrum(ENERGIES, per_l, np.arange(2))


def test_energies_in_ev_and_probability_per_ev():
    s = spectrum()
    line = plot.photoelectrons(s).axes[0].lines[0]
    np.testing.assert_allclose(line.get_xdata(), units.HARTREE_EV * s.energies)
    np.testing.assert_allclose(line.get_ydata(), s.total / units.HARTREE_EV)
    # The area is the probability in both units.
    area = np.trapezoid(line.get_ydata(), line.get_xdata())
    assert area == pytest.approx(s.probability, rel=1e-12)


def test_each_l_and_the_photon_ladder():
    axes = plot.photoelectrons(spectrum(), photon=0.7, ionization=0.5, channels=True).axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["total", "l = 0", "l = 1"]
    drawn = np.asarray(axes.lines[2].get_ydata())
    np.testing.assert_allclose(drawn, spectrum().per_l[1] / units.HARTREE_EV)
    marks = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
    np.testing.assert_allclose(marks, units.to_ev(np.array([0.2, 0.9])))  # nω − Ip below 1.5


def test_each_kappa_of_a_relativistic_spectrum():
    per_kappa = np.stack([np.exp(-ENERGIES), 0.1 * np.exp(-2 * ENERGIES)])
    s = SpinorSpectrum(ENERGIES, per_kappa, np.array([-1, 1]))
    axes = plot.photoelectrons(s, channels=True).axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["total", "κ = -1", "κ = 1"]
    drawn = [np.asarray(line.get_ydata()) for line in axes.lines]
    np.testing.assert_allclose(drawn, np.stack([s.total, *per_kappa]) / units.HARTREE_EV)


def test_several_runs_are_told_apart():
    axes = plot.photoelectrons({"a": spectrum(), "b": spectrum(0.5)}).axes[0]
    a, b = (np.asarray(line.get_ydata()) for line in axes.lines)
    np.testing.assert_allclose(b, 0.5 * a)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    assert axes.lines[0].get_linestyle() != axes.lines[1].get_linestyle()


def test_momentum_map(tmp_path):
    angles = np.linspace(0, np.pi, 31)
    density = np.exp(-((ENERGIES[:, None] - 0.5) ** 2) / 0.02) * np.cos(angles) ** 2 + 1e-9
    angular = AngularSpectrum(ENERGIES, angles, density)
    figure = plot.momentum_map(angular, decades=4)
    mesh = figure.axes[0].collections[0]
    values = np.asarray(mesh.get_array()).reshape(density.shape)
    np.testing.assert_allclose(values, np.log10(density / np.sqrt(2 * ENERGIES)[:, None]))
    assert mesh.get_clim()[1] - mesh.get_clim()[0] == pytest.approx(4.0)
    corners = mesh.get_coordinates().reshape(-1, 2)
    np.testing.assert_allclose(np.hypot(*corners.T).max(), np.sqrt(2 * 1.5))
    assert plot.save(figure, tmp_path / "map.png").stat().st_size > 1e4


def test_bound_states():
    l, energies = np.array([0, 0, 1]), np.array([-0.5, -0.125, -0.125])
    populations = np.array([0.9, 1e-3, 1e-14])
    axes = plot.bound_states(l, energies, populations).axes[0]
    x, y = axes.lines[0].get_data()
    np.testing.assert_allclose(x, units.HARTREE_EV * energies[:2])
    np.testing.assert_allclose(y, populations[:2])
    assert len(axes.lines[1].get_xdata()) == 0  # below twelve decades
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["l = 0", "l = 1"]
