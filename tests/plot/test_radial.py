"""Radial densities of atomic and spinor states: normalized, and drawn instead of coefficients."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from zitter.plot.radial import radial_density

SPLINES = zt.RadialBSplines(30, 7, 20.0)
BASES = {
    "spherical": (zt.SphericalBasis(SPLINES, 1), zt.Kinetic()),
    "spinors": (zt.SpinorBasis(SPLINES, 1), zt.Dirac()),
}


@pytest.mark.parametrize("name", BASES)
def test_levels_are_drawn_as_radial_densities(name):
    basis, kinetic = BASES[name]
    H = zt.discretize(zt.Model([kinetic, zt.Coulomb(Z=1)]), basis)
    levels = zt.eigenstates(H, 2)
    r = np.linspace(1e-3, 20.0, 4001)
    density = radial_density(basis, levels.states[0], r)
    # Hydrogen's 1s: dP/dr = 4r² e^{−2r}; relativity changes it by (1/c)² ln r.
    np.testing.assert_allclose(density, 4 * r**2 * np.exp(-2 * r), atol=3e-4)
    assert np.trapezoid(density, r) == pytest.approx(1.0, abs=1e-5)
    figure = zt.plot.levels(H, levels)
    assert len(figure.axes[0].lines) == 2
    for alone in (figure.axes[1], *zt.plot.levels(None, levels).axes):  # level diagrams
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
