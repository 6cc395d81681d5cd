"""Pictures of stationary states: what is drawn is what was computed."""

import numpy as np
import pytest

import zitter as zt
from zitter.plot.diagrams import degenerate
from zitter.plot.stationary import surface_points
from zitter.results import Eigenstates
from zitter.stored import Kept

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
    assert zt.plot.slices(levels, "x", 0.9).axes[0].get_title().endswith("x = 0.8 bohr")
    with pytest.raises(zt.InputError, match="axis: must be one of 'x', 'y', 'z', but is None"):
        zt.plot.slices(levels, at=0.8)


def test_degenerate_levels_stand_side_by_side(levels):
    """An oscillator in three dimensions: 3/2 once, 5/2 three times."""
    ax = zt.plot.level_diagram(levels).axes[0]
    drawn = [np.array(lines.get_segments()) for lines in ax.collections]
    assert [len(segments) for segments in drawn] == [1, 3]
    np.testing.assert_allclose(np.concatenate(drawn)[:, 0, 1], levels.energies)
    left, right = drawn[1][:, 0, 0], drawn[1][:, 1, 0]
    assert np.all(right[:-1] < left[1:])
    labels = [text.get_text() for text in ax.texts]
    assert labels[0].startswith("$E_{0}$ = 1.5")
    assert labels[1].startswith("$E_{1}$ … $E_{3}$ = 2.5")
    assert labels[1].endswith("(×3)")


def test_close_levels_are_seen_apart():
    """Told apart where their residuals allow it, side by side where their lines would overlap."""
    energies, residuals = np.array([1.0, 1.1, 1.2, 20.0]), np.array([0.0, 0.06, 0.06, 0.0])
    assert [list(group) for group in degenerate(energies, residuals)] == [[0], [1, 2], [3]]
    eig = Eigenstates(energies, np.eye(4), residuals, {}, {"level": np.arange(4)})
    first, pair, last = zt.plot.levels(None, eig).axes[0].collections
    assert first.get_segments()[0][1, 0] < pair.get_segments()[0][0, 0]
    np.testing.assert_allclose(last.get_segments()[0][:, 0], [0.1, 0.9])


def test_planes_hold_what_they_show():
    """p orbitals along x, y and z, one of them off the middle, and one without any zero."""
    x = np.linspace(-4, 4, 17)
    grid = np.meshgrid(x, x, x, indexing="ij")
    gauss = np.exp(-0.5 * sum(c**2 for c in grid))
    stretched = np.exp(-0.5 * (grid[0] ** 2 + grid[1] ** 2) - 0.1 * grid[2] ** 2)
    shifted = np.exp(-0.5 * ((grid[0] - 2) ** 2 + 3 * grid[1] ** 2 + grid[2] ** 2))
    states = np.array([c * gauss for c in grid] + [stretched, shifted * grid[1]])
    axes = dict(zip("xyz", [x, x, x], strict=True))
    kept = Kept({"basis": zt.Grid((17, 17, 17), 0.5)})
    eig = Eigenstates(np.arange(5.0), states, np.zeros(5), {}, axes, kept=kept)
    figure = zt.plot.levels(None, eig)
    titles = [ax.get_title().split("\n")[-1] for ax in figure.axes]
    assert titles[:4] == ["z = 0 bohr", "z = 0 bohr", "y = 0 bohr", "y = 0 bohr"]
    for ax, psi in zip(figure.axes[:5], states, strict=True):
        shown = float(np.max(ax.collections[0].get_array()))
        assert shown == pytest.approx(float(np.max(psi**2)))
    assert figure.axes[2].get_xlabel() == "x (bohr)"
    assert figure.axes[2].get_ylabel() == "z (bohr)"
    assert len(figure.axes[5].collections) == 5  # the level diagram


def test_convergence_history(levels):
    H = zt.discretize(zt.Model([zt.Kinetic(order=2), zt.Harmonic(1.0)]), zt.Grid((9, 9, 9), 0.8))
    found = zt.eigenstates(H, 1, zt.ImaginaryTime(tol=1e-3, check_every=10))
    figure = zt.plot.convergence_history({"imaginary time": found})
    drawn = figure.axes[0].lines[0].get_ydata()
    np.testing.assert_allclose(drawn, found.info["residual_history"])
    with pytest.raises(zt.InputError, match="iterative solvers"):
        zt.plot.convergence_history({"direct": levels})
