"""Pictures of stationary states: what is drawn is what was computed."""

import numpy as np
import pytest

import zitter as zt
from zitter.plot.stationary import surface_points

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def levels():
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), zt.Grid((9, 9, 9), 0.8))
    return zt.eigenstates(H, 4, zt.Direct())


def test_surface_lies_where_psi_has_the_level():
    """A Gaussian e^{−r²/2}: |ψ| = 0.3 max at r = √(−2 ln 0.3); linear between points 0.2 apart."""
    x = np.linspace(-3, 3, 31)
    psi = np.exp(-0.5 * (x[:, None, None] ** 2 + x[:, None] ** 2 + x**2))
    points, signs = surface_points(psi, [x, x, x], 0.3)
    radii = np.linalg.norm(points, axis=1)
    assert radii == pytest.approx(np.sqrt(-2 * np.log(0.3)), abs=0.2**2)
    assert np.all(signs == 1)
    with pytest.raises(zt.InputError, match="level: must be crossed"):
        surface_points(np.ones((3, 3, 3)), [np.arange(3.0)] * 3, 0.3)


def test_figures_are_drawn(levels, tmp_path):
    for name, figure in {
        "slices": zt.plot.slices(levels),
        "isosurface": zt.plot.isosurface(levels, 1, 0.3),
    }.items():
        zt.plot.save(figure, tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
    assert len(zt.plot.slices(levels).axes) == 4


def test_convergence_history(levels):
    H = zt.discretize(zt.Model([zt.Kinetic(order=2), zt.Harmonic(1.0)]), zt.Grid((9, 9, 9), 0.8))
    found = zt.eigenstates(H, 1, zt.ImaginaryTime(tol=1e-3, check_every=10))
    figure = zt.plot.convergence_history({"imaginary time": found})
    drawn = figure.axes[0].lines[0].get_ydata()
    np.testing.assert_allclose(drawn, found.info["residual_history"])
    with pytest.raises(zt.InputError, match="iterative solvers"):
        zt.plot.convergence_history({"direct": levels})
