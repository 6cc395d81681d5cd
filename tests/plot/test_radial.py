"""Radial densities of atomic and spinor states: normalized, and drawn instead of coefficients."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt

SPLINES = zt.RadialBSplines(30, 7, 20.0)
BASES = {
    "spherical": (zt.SphericalBasis(SPLINES, 1), zt.Kinetic()),
    "spinors": (zt.SpinorBasis(SPLINES, 1), zt.Dirac()),
}


@pytest.mark.parametrize("name", BASES)
def test_levels_are_drawn_as_radial_densities(name, tmp_path):
    """Also from a file, which knows its basis."""
    basis, kinetic = BASES[name]
    H = zt.discretize(zt.Model([kinetic, zt.Coulomb(Z=1)]), basis)
    levels = zt.eigenstates(H, 2)
    levels.save(tmp_path / "levels.h5")
    for known in (levels, zt.load(tmp_path / "levels.h5")):
        figure = zt.plot.levels(None, known)
        lines = figure.axes[0].lines
        assert len(lines) == 2
        r, density = lines[0].get_data()
        # Hydrogen's 1s: dP/dr = 4r² e^{−2r}; relativity changes it by (1/c)² ln r.
        np.testing.assert_allclose(density, 4 * r**2 * np.exp(-2 * r), atol=3e-4)
        # Trapezoids of 600 radii: (0.033)²/12 of the change of slope.
        assert np.trapezoid(density, r) == pytest.approx(1.0, abs=2e-4)
    for alone in (figure.axes[1], *zt.plot.level_diagram(levels).axes):
        heights = [lines.get_segments()[0][0, 1] for lines in alone.collections]
        np.testing.assert_allclose(heights, np.unique(np.round(levels.energies, 5)), atol=1e-4)


def test_channels_are_named_by_their_quantum_number():
    basis, kinetic = BASES["spinors"]
    H = zt.discretize(zt.Model([kinetic, zt.Coulomb(Z=1)]), basis)
    start = zt.eigenstates(H, 1).states[0]
    run = zt.evolve(H, start, (0.0, 0.02), 0.01, observables=[zt.KappaPopulations()])
    figure = zt.plot.observables(run)
    names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert names == ["kappa = −1", "kappa = 1"]
