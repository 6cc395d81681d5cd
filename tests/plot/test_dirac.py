"""Pictures of relativistic photoelectrons draw what they are given."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from zitter.spectra import SpinorSpectrum

ENERGIES = np.linspace(1.0, 50.0, 60)
SPECTRUM = SpinorSpectrum(ENERGIES, np.stack([np.exp(-ENERGIES), ENERGIES**-2]), np.array([-1, 1]))


def test_spectra_show_the_sum_over_kappa():
    figure = zt.plot.spinor_spectra({"one": SPECTRUM, "two": SPECTRUM}, decades=6)
    lines = figure.axes[0].lines
    assert len(lines) == 2
    np.testing.assert_allclose(lines[0].get_ydata(), SPECTRUM.per_kappa.sum(axis=0))
    low, high = figure.axes[0].get_ylim()
    assert high / low == pytest.approx(3e6)


def test_overview_has_a_panel_for_each_curve(tmp_path):
    pz = np.linspace(-3, 3, 31)
    along = {"pz": pz, "simulation": np.exp(-(pz**2)), "rsfa": np.exp(-2 * pz**2)}
    curves = {
        "spectra": {"κ_max = 2": SPECTRUM},
        "errors": {"κ_max": [(2, 1e-3), (3, 1e-5)], "steps": [(10, 1e-2), (20, 1e-3)]},
        "along": along,
        "memory": ((5, 10), (10**6, 10**7), (10**4, 2 * 10**4)),
    }
    figure = zt.plot.dirac_overview(curves)
    assert len(figure.axes) == 4
    np.testing.assert_array_equal(figure.axes[2].lines[1].get_ydata(), along["rsfa"])
    # CSR: 20 bytes for an entry.
    np.testing.assert_allclose(figure.axes[3].lines[0].get_ydata()[0], 20e6 / 2**30)
    assert zt.plot.save(figure, tmp_path / "figure.png").stat().st_size > 10_000
    several = zt.plot.dirac_overview({"along": {"E₀ = 600": along, "E₀ = 1000": along}})
    assert len(several.axes[0].lines) == 5  # two curves each, and the axis
