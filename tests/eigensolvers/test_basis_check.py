"""What a poorer basis tells of levels: it covers the true errors, on every basis that has one."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.special

import zitter as zt
from marks import slow
from systems import hydrogen
from systems.stationary import MAKERS
from zitter.expressions import Expression
from zitter.solve import between
from zitter.solve.accuracy import EnergyErrors, _error_per_change
from zitter.solve.jumps import shifts


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_stated_errors_cover_true_ones_and_are_no_empty_words():
    """A short form of benchmarks/energy_errors.py: wells on a line, good and poor grids."""
    ratios = []
    for kind in ("harmonic", "Morse", "Pöschl–Teller"):
        for seed in range(100, 104):
            problem = MAKERS[kind](np.random.default_rng(seed))
            eig = problem.solved()
            true = np.abs(np.asarray(eig.energies) - problem.exact)
            ratios += list(np.array(eig.info["energy_errors"]) / true)
    assert np.mean(np.array(ratios) >= 1) >= 0.95
    assert np.median(ratios) < 10


@pytest.mark.parametrize(("n", "h"), [(64, 0.25), (64, 0.3), (31, 0.6)])
def test_a_potential_with_a_kink(n, h):
    """|x|: waves gain but second order from the spacing. Levels by zeros of Ai′ and Ai."""
    model = zt.Model([zt.Kinetic(), zt.Potential(expression="abs(x)")])
    eig = zt.eigenstates(zt.discretize(model, zt.Grid(n, h)), 2, basis_check=True)
    slopes, values = (zeros[0] for zeros in scipy.special.ai_zeros(1)[1::-1])
    true = np.abs(np.asarray(eig.energies) - -np.array([slopes, values]) / 2 ** (1 / 3))
    stated = np.array(eig.info["energy_errors"])
    assert np.all(stated > true) and stated[0] < 3 * true[0]


@pytest.mark.slow
def test_hydrogen_in_the_plane_at_a_poor_spacing():
    """−1/r on 64² points 0.4 bohr apart once stated 0.39 beside an error of 0.81."""
    model, grid = zt.Model([zt.Kinetic(), zt.Coulomb(1.0)]), zt.Grid((64, 64), 0.4)
    eig = zt.eigenstates(zt.discretize(model, grid), 1, basis_check=True)
    true, stated = abs(eig.energies[0] + 2), eig.info["energy_errors"][0]
    assert 1e-3 < true < stated < 0.05
    assert zt.energy_errors(model, grid, eig).total[0] == pytest.approx(stated, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("R", "h"), [(1.0, 0.5), (0.7, 0.4), (1.6, 0.5)])
@pytest.mark.filterwarnings("ignore::zitter.eigensolvers.errors.BoxWarning")
def test_nuclei_that_share_their_cores(R, h):
    """H2+ at R = 1 with spacing 0.5 once stated 3.0e-3 beside an error of 9.9e-3."""
    exact = zt.ProlateSpheroidal(R, 0)
    model = zt.Model([zt.Kinetic(), zt.Coulomb(1.0, centers=[[0, 0, -R / 2], [0, 0, R / 2]])])
    level = zt.eigenstates(zt.discretize(model, exact), 1).energies[0]
    H = zt.discretize(model, zt.Grid((27, 27, 35), h))
    eig = zt.eigenstates(H, 1, zt.LOBPCG(tol=1e-4), basis_check=True)
    assert abs(eig.energies[0] - level) < eig.info["energy_errors"][0] < 0.05


def test_every_part_of_an_error_counts():
    """Three levels, each with one of them alone; the box with its margin."""
    solver, box, grid = np.diag([1e-3, 2e-3, 4e-3])
    found = EnergyErrors(solver, box, grid, np.zeros(3), {"spacing": grid})
    np.testing.assert_allclose(found.total, [1e-3, 3e-3, 4e-3], rtol=1e-15)


@pytest.mark.parametrize("n", [16, slow(24)])
def test_splines_of_hydrogen(n):
    """1s, 2p and 2s on few splines: the error falls by orders, and is covered each time."""
    basis = zt.SphericalBasis(zt.RadialBSplines(n, 7, 40.0, "graded", first=0.5), 1)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)]), basis)
    eig = zt.eigenstates(H, 3, basis_check=True)
    true = np.abs(eig.energies - [-0.5, -0.125, -0.125])
    stated = np.array(eig.info["energy_errors"])
    assert eig.info["basis_check"] == "splines"
    assert np.all(true <= stated) and stated.max() < 5e-2


@pytest.mark.slow
def test_a_stark_resonance():
    """Hydrogen at F = 0.06 on a poor basis: splines, rmax, angle and lmax each have their say."""
    scaling = zt.ExteriorScaling(12.0, 0.5)
    radial = zt.RadialBSplines(36, 6, 30.0, "graded", first=0.4, scaling=scaling)
    field = zt.LengthGauge(zt.Static(amplitude=0.06, ramp=1.0))
    model = zt.Model([zt.Kinetic(), zt.Coulomb(Z=1), field])
    H = zt.discretize(model, zt.SphericalBasis(radial, 6))
    eig = zt.eigenstates(H.at(2.0), 1, zt.Resonances(near=-0.51), basis_check=True)
    assert eig.info["basis_check"] == "splines, rmax, angle, lmax"
    stated = eig.info["energy_errors"][0]
    _, rate = hydrogen.STARK[0.06]
    assert abs(-2 * eig.energies[0].imag - rate) < 2 * stated
    assert stated < 1e-3


@pytest.mark.filterwarnings("ignore::zitter.bases.edges.ConvergenceWarning")
def test_two_centers():
    """1sσg of H2+ with few functions."""
    poor = zt.ProlateSpheroidal(2.0, 0, rmax=20.0, nodes=6, eta=6)
    nuclei = zt.Coulomb(Z=[1, 1], centers=[[0, 0, -1], [0, 0, 1]])
    eig = zt.eigenstates(zt.discretize(zt.Model([zt.Kinetic(), nuclei]), poor), 1, basis_check=True)
    assert eig.info["basis_check"] == "nodes, eta"
    assert abs(eig.energies[0] + 1.1026342144949) < eig.info["energy_errors"][0] < 0.1


@pytest.mark.parametrize(("nodes", "eta"), [(4, 8), (8, 4), (5, 8), (4, 4)])
@pytest.mark.filterwarnings("ignore::zitter.bases.edges.ConvergenceWarning")
def test_two_centers_with_as_few_functions_as_can_be(nodes, eta):
    """Neither direction is left out where it cannot be poorer: nodes = 4 once stated 2e-13 beside
    an error of 2.5e-4, eta = 4 5e-11 beside 6.7e-5."""
    poor = zt.ProlateSpheroidal(2.0, 0, rmax=20.0, nodes=nodes, eta=eta)
    nuclei = zt.Coulomb(Z=[1, 1], centers=[[0, 0, -1], [0, 0, 1]])
    eig = zt.eigenstates(zt.discretize(zt.Model([zt.Kinetic(), nuclei]), poor), 1, basis_check=True)
    assert eig.info["basis_check"] == "nodes, eta"
    assert abs(eig.energies[0] + 1.1026342144949) < eig.info["energy_errors"][0] < 1e-2


@pytest.mark.parametrize(("degree", "n"), [(7, 9), slow(7, 8), slow(1, 40)])
@pytest.mark.parametrize(("Z", "rmax"), [(1, 50.0), (20, 20.0)])
@pytest.mark.filterwarnings("ignore::zitter.eigensolvers.errors.BoxWarning")
def test_splines_too_coarse_for_the_nucleus(degree, n, Z, rmax):
    """Errors of the energy's own size, where fewer splines change less than is missing."""
    basis = zt.SphericalBasis(zt.RadialBSplines(n, degree, rmax), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # of roots of negative masses
        H = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=Z)]), basis)
        eig = zt.eigenstates(H, 1, basis_check=True)
    true = eig.energies[0] + Z**2 / 2
    assert true > 0.02 * Z**2 and true < eig.info["energy_errors"][0] < 3 * true


@pytest.mark.filterwarnings("ignore::zitter.eigensolvers.errors.BoxWarning")
def test_splines_that_cannot_be_judged_say_so(monkeypatch):
    monkeypatch.setattr("zitter.solve.accuracy.ROUNDS", 1)
    basis = zt.SphericalBasis(zt.RadialBSplines(9, 7, 20.0), 0)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=20)]), basis)
    eig = zt.eigenstates(H, 1, basis_check=True)
    assert eig.info["basis_check"].startswith("none: splines are far too few")
    assert "energy_errors" not in eig.info


def square_well(a: float, depth: float) -> float:
    """The lowest level of −depth within ±a: k tan ka = √(2 depth − k²)."""
    most = np.sqrt(2 * depth)
    end = min(most, np.pi / (2 * a))
    k = scipy.optimize.brentq(
        lambda k: k * np.sin(k * a) - np.sqrt(max(most**2 - k**2, 0)) * np.cos(k * a), 1e-9, end
    )
    return k**2 / 2 - depth


@pytest.mark.parametrize("a", [0.8, 0.999, 1.0, 1.001, 1.05, 1.1, 1.15, 1.2])
def test_a_potential_that_jumps(a):
    """The edge anywhere between two points, half a spacing from where the grid has it at worst: at
    1.0 an error of 0.069 was once stated as 0.043."""
    model = zt.Model([zt.Kinetic(), zt.Potential(expression=f"where(abs(x) < {a}, -2.0, 0.0)")])
    eig = zt.eigenstates(zt.discretize(model, zt.Grid(127, 0.2)), 1, basis_check=True)
    assert eig.info["basis_check"] == "spacing, jumps"
    assert abs(eig.energies[0] - square_well(a, 2.0)) < eig.info["energy_errors"][0] < 0.5


def test_a_jump_costs_what_half_a_spacing_of_it_shifts():
    """Both edges of the exact well half a spacing further out and in: E changes by half of that
    each way. The larger of two neighbors is κh/2 = 2 % of |ψ|² too high at most."""
    a, h = 1.01, 0.02
    level = square_well(a, 2.0)
    k, kappa = np.sqrt(2 * (level + 2)), np.sqrt(-2 * level)
    model = zt.Model([zt.Kinetic(), zt.Potential(expression=f"where(abs(x) < {a}, -2.0, 0.0)")])
    grid = zt.Grid(801, h)
    x = np.abs(grid.points(0))
    psi = np.where(x < a, np.cos(k * x), np.cos(k * a) * np.exp(-kappa * (x - a)))
    (found,) = np.asarray(shifts(zt.discretize(model, grid), [psi]))
    exact = 0.5 * (square_well(a - h / 2, 2.0) - square_well(a + h / 2, 2.0))
    assert found == pytest.approx(exact * (1 + kappa * h / 2), rel=0.02)


@pytest.mark.parametrize("order", [2, 4])
def test_a_change_of_the_spacing_says_the_error_by_the_order(order):
    """ω = 1 by differences of that order: E(h) − E(0) from E(h) − E(rh), up to the next order."""
    model, grid = zt.Model([zt.Kinetic(order=order), zt.Harmonic(1.0)]), zt.Grid(70, 0.2)
    H = zt.discretize(model, grid)
    other: Any = H.basis.poorer(H.operator)["spacing"][0]
    here, there = (
        np.asarray(zt.eigenstates(one, 2).energies) for one in (H, zt.discretize(model, other))
    )
    stated = np.abs(here - there) * _error_per_change(model, grid, other)
    np.testing.assert_allclose(stated, np.abs(here - [0.5, 1.5]), rtol=0.02)


@pytest.mark.parametrize(
    ("text", "jumps"),
    [
        ("0.5*x**2 + where(x < 1.1, -0.1, 0)", True),
        ("sign(x)", True),
        ("x/abs(x)", True),
        ("where(abs(x) < 0.02, -5.0, 0)", True),
        ("where(x < 0, 0, x**2)", False),
        ("abs(x)", False),
        ("x**6 - 1/sqrt(x**2 + 0.1)", False),
        ("1/(1 + exp(-x/0.1))", False),
    ],
)
def test_jumps_are_found_by_what_the_potential_does(text, jumps):
    grid = zt.Grid(16, 0.2)
    for potential in (zt.Potential(expression=text), zt.Potential(python_function(text))):
        H = zt.discretize(zt.Model([zt.Kinetic(), potential]), grid)
        found = shifts(H, [np.ones(16)])
        assert jumps == (found is not None and found[0] > 1e-4)


def python_function(text: str):
    """The same potential as users of the library write it."""
    expression = Expression(text, ("x",))
    return lambda x: expression(x=x)


def test_dirac_levels():
    """1s½ of hydrogen on few splines: E = c²(√(1 − 1/c²) − 1)."""
    radial = zt.RadialBSplines(24, 7, 30.0, "graded", first=0.3)
    basis = zt.SpinorBasis(radial, 1, 0.5)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), basis)
    eig = zt.eigenstates(H, 1, basis_check=True)
    assert eig.info["basis_check"] == "splines, rmax"
    root = np.sqrt(1 - basis.c**-2.0)
    true = abs(eig.energies[0] + 1 / (1 + root))  # the same without cancellation
    assert true < eig.info["energy_errors"][0] < 1e-2


@pytest.mark.parametrize("order", ["spectral", 4])
def test_free_particles_on_a_ring_are_resolved(order):
    """Their least kinetic energy is zero, or rounding below it."""
    grid = zt.Grid(64, 0.3, boundary="periodic")
    model = zt.Model([zt.Kinetic(order=order), zt.Potential(expression="5 + 0*x")])
    eig = zt.eigenstates(zt.discretize(model, grid), 3, basis_check=True)
    assert eig.info["basis_check"] == "spacing"
    k = 2 * np.pi / (64 * 0.3)
    true = np.abs(eig.energies - 5 - 0.5 * k**2 * np.array([0, 1, 1]))
    assert np.all(true <= np.array(eig.info["energy_errors"]) + 1e-12)


def test_spinors_are_compared_with_finer_ones_at_the_nucleus_and_in_a_larger_box():
    basis = zt.SpinorBasis(zt.RadialBSplines(24, 7, 16.0, "graded", first=0.1), 1, 0.5)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), basis)
    others: Any = basis.poorer(H.operator)
    here, fewer, nearer = (np.unique(one.radial.knots)[1] for one in (basis, *others["splines"]))
    assert fewer > here and nearer == pytest.approx(here / 8)
    larger = others["rmax"][0].radial
    assert larger.rmax > 1.25 * 16.0 - 1e-9 and set(basis.radial.knots) <= set(larger.knots)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("n", "first", "true"), [(40, 0.02, 42.1), (40, 0.002, 1.03)])
def test_a_heavy_nucleus_whose_cusp_the_first_spline_misses(n, first, true):
    """1s½ at Z = 92: r^γ is no polynomial, and fewer splines elsewhere say little of it: 30 hartree
    were once stated beside 42."""
    basis = zt.SpinorBasis(zt.RadialBSplines(n, 7, 5.0, "graded", first=first), 1, 0.5)
    eig = zt.eigenstates(
        zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=92)]), basis), 1, basis_check=True
    )
    error = eig.energies[0] - basis.c**2 * (np.sqrt(1 - (92 / basis.c) ** 2) - 1)
    assert error == pytest.approx(true, rel=0.01)
    assert error < eig.info["energy_errors"][0] < 2 * error


@pytest.mark.slow
def test_spinors_in_a_small_box():
    """2s½ of a box that cuts it: rmax is one of what is varied."""
    basis = zt.SpinorBasis(zt.RadialBSplines(24, 7, 16.0, "graded", first=0.1), 1, 0.5)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), basis)
    eig = zt.eigenstates(H, 4, basis_check=True)
    assert eig.info["basis_check"] == "splines, rmax"
    true = abs(eig.energies[3] + 0.125002080)  # n = 2, j = ½
    assert 1e-5 < true < eig.info["energy_errors"][3] < 10 * true


def test_a_field_on_a_basis_of_one_l():
    """With lmax = 0 the field does nothing: one more l has its shift."""
    basis = zt.SphericalBasis(zt.RadialBSplines(24, 7, 18.0), 0)
    field = zt.LengthGauge(zt.Static(amplitude=0.03, ramp=1.0))
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1), field]), basis)
    others: Any = basis.poorer(H.at(2.0).operator)
    assert [other.lmax for other in others["lmax"]] == [1]
    assert "lmax" not in basis.poorer(H.static.operator)  # each l stands alone


@pytest.mark.slow
def test_the_shift_by_a_field_on_a_basis_of_one_l():
    """−9F²/4 − 3555F⁴/64 at F = 0.03, all of which lmax = 0 leaves out."""
    basis = zt.SphericalBasis(zt.RadialBSplines(24, 7, 18.0), 0)
    field = zt.LengthGauge(zt.Static(amplitude=0.03, ramp=1.0))
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1), field]), basis)
    eig = zt.eigenstates(H.at(2.0), 1, basis_check=True)
    assert eig.info["basis_check"] == "splines, lmax"
    assert 9 / 4 * 0.03**2 + 3555 / 64 * 0.03**4 < eig.info["energy_errors"][0] < 4e-3


@pytest.mark.parametrize("center", [0.0, 0.1, 0.2])
def test_a_core_narrower_than_the_spacing(center):
    """Upon a point, or between them: a softening of 1e-3 on points 0.4 bohr apart is off by 1 to 16
    hartree, of which coarser grids say less."""
    model = zt.Model([zt.Kinetic(), zt.SoftCoulomb(softening=1e-3)])
    grid = zt.Grid(61, 0.4, center=center)
    eig = zt.eigenstates(zt.discretize(model, grid), 1, basis_check=True)
    assert eig.info["basis_check"].startswith("none: the basis does not resolve the potential")
    assert "energy_errors" not in eig.info and "wrong by any amount" in eig.summary()


@pytest.mark.parametrize(
    ("basis", "potential"),
    [
        (zt.Grid(51, 0.4), "0.5*x**2 - 50*exp(-((x - 0.05)/0.01)**2)"),
        (
            zt.Grid((20, 20), 0.5, center=0.25),
            "0.5*(x**2 + y**2) - 200*exp(-((x - 1.1)**2 + (y - 0.3)**2)/0.0025)",
        ),
        (
            zt.SphericalBasis(zt.RadialBSplines(60, 7, 60.0, "graded"), 0),
            "-1/r - 300*exp(-((r - 5.03)/0.003)**2)",
        ),
    ],
    ids=["line", "plane", "splines"],
)
def test_a_well_that_no_point_lies_in(basis, potential):
    """Each lowers the ground state by 0.7 hartree or more, and all points are beside it."""
    model = zt.Model([zt.Kinetic(), zt.Potential(expression=potential)])
    eig = zt.eigenstates(zt.discretize(model, basis), 1, basis_check=True)
    assert eig.info["basis_check"].startswith("none: the basis does not resolve the potential")
    assert "energy_errors" not in eig.info


@pytest.mark.parametrize(
    ("n", "a", "b"), [(73, 2.740, 4.879), slow(73, 0.0, 2.137), slow(90, 1.3, 3.01)]
)
def test_splines_across_the_edges_of_a_well(n, a, b):
    """−1.462 for a < r < b: sinh within, a sine in the well, e^(−κr) outside it."""
    depth = 1.462

    def mismatch(E):
        kappa, q = np.sqrt(-2 * E), np.sqrt(2 * (E + depth))
        slope = kappa / np.tanh(kappa * a) if a else np.inf  # u′/u at a
        phase = (np.arctan(q / slope) if a else 0.0) + q * (b - a)
        return q * np.cos(phase) + kappa * np.sin(phase)

    exact = scipy.optimize.brentq(mismatch, -1.45, -0.5, xtol=1e-14)
    expression = f"where(r > {a}, where(r < {b}, -{depth}, 0), 0)"
    model = zt.Model([zt.Kinetic(), zt.Potential(expression=expression)])
    basis = zt.SphericalBasis(zt.RadialBSplines(n, 7, 25.0), 0)
    eig = zt.eigenstates(zt.discretize(model, basis), 1, basis_check=True)
    true, stated = abs(eig.energies[0] - exact), eig.info["energy_errors"][0]
    assert eig.info["basis_check"] == "splines, points"
    assert 1e-4 < true < stated < 0.02


def test_a_mask_is_no_integral_of_a_potential():
    """Splines without a fixed potential have nothing to integrate."""
    basis = zt.SphericalBasis(zt.RadialBSplines(12, rmax=10.0), 0)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.MaskAbsorber(5.0)]), basis)
    found = zt.eigenstates(H, 2, zt.Direct())
    assert between.closer(H, found, lambda finer: found.energies) is None


def test_splines_that_are_not_dense_enough_for_the_fourth_level():
    """ω = 1 on intervals of 1.1 bohr: with fewer splines it changes by less than its error."""
    model = zt.Model([zt.Kinetic(), zt.Potential(expression="0.5*r**2")])
    basis = zt.SphericalBasis(zt.RadialBSplines(60, 7, 60.0), 1)
    eig = zt.eigenstates(zt.discretize(model, basis), 4, basis_check=True)
    true = np.abs(np.asarray(eig.energies) - [1.5, 2.5, 3.5, 4.5])
    assert np.all(true < eig.info["energy_errors"])


@pytest.mark.parametrize("h", [0.4, 0.2])
def test_a_core_as_wide_as_the_spacing(h):
    """−1/√(x² + 0.1): E₀ by linear elements on 6000 points dense at the core, −1.67700."""
    model = zt.Model([zt.Kinetic(), zt.SoftCoulomb(softening=0.1)])
    eig = zt.eigenstates(zt.discretize(model, zt.Grid(61, h)), 1, basis_check=True)
    true = abs(eig.energies[0] + 1.67700)
    assert true < eig.info["energy_errors"][0] < 40 * true


@pytest.mark.slow
def test_errors_of_axes_that_cancel_on_coarser_grids():
    """Differences along three axes, whose errors of 2.7e-2 in all were once stated as 1.9e-2."""
    problem = MAKERS["product of three"](np.random.default_rng([2, 5]))
    eig = problem.solved()
    true = abs(eig.energies[0] - problem.exact[0])
    assert 0.02 < true < eig.info["energy_errors"][0] < 5 * true


def test_the_waves_through_the_points_know_the_error_of_differences():
    """E₀ = −½a²λ² of the well −½a²λ(λ + 1)/cosh²(ax), a = 1, λ = 3; the rest is of second order."""
    model = zt.Model([zt.Kinetic(order=4), zt.Potential(expression="-6/cosh(x)**2")])
    H = zt.discretize(model, zt.Grid(31, 0.4))
    eig = zt.eigenstates(H, 1)
    missed = between.changes(H, eig)
    assert missed is not None and missed[0] == pytest.approx(-4.5 - eig.energies[0], rel=0.2)


@pytest.mark.parametrize("points", [16, 24])
def test_a_periodic_box_says_what_its_error_leaves_out(points):
    """ω = 1 in a box of 4.8 bohr: its images shift the two lowest levels by 1e-2 and 7e-2."""
    model = zt.Model([zt.Kinetic(), zt.Harmonic(1.0)])
    H = zt.discretize(model, zt.Grid(points, 0.3, "periodic"))
    eig = zt.eigenstates(H, 2)
    images = H.basis.image_errors(H.operator, eig.energies, eig.states)
    true = np.abs(np.asarray(eig.energies) - [0.5, 1.5])
    assert np.all(true < images) and np.all(images < 4 * true)
    assert eig.info["box_check"].startswith("none: a periodic box repeats what it holds")
    assert any(note.startswith("error by the box: none: ") for note in eig.notes)


def test_a_large_periodic_box_has_nothing_to_add():
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), zt.Grid(48, 0.35, "periodic"))
    assert "box_check" not in zt.eigenstates(H, 1).info


def test_what_has_no_other_basis_says_so():
    H = zt.discretize(zt.Model([zt.Matrix([0.0, 1.0])]), zt.Levels(2))
    eig = zt.eigenstates(H, 1, basis_check=True)
    assert eig.info["basis_check"].startswith("none: ") and "basis_errors" not in eig.info
    grid = zt.Grid(16, 0.5)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Potential(array=np.ones(16))]), grid)
    eig = zt.eigenstates(H, 1, basis_check=True)
    assert "given by its array" in eig.info["basis_check"]
    assert "given by its array" in eig.summary()


def test_a_solver_that_gives_up_on_the_other_basis_costs_no_states(monkeypatch):
    """The check may take another solver than the run did, whose states are good all the same."""
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), zt.Grid(61, 0.2))
    gives_up = zt.LOBPCG(max_iterations=1)
    monkeypatch.setattr("zitter.solve.stationary.recommended", lambda H, n: gives_up)
    eig = zt.eigenstates(H, 1, zt.Direct(), basis_check=True)
    assert eig.energies[0] == pytest.approx(0.5, abs=1e-3)
    assert eig.info["basis_check"].startswith("none: LOBPCG stopped at max_iterations = 1")
    assert "none: LOBPCG stopped" in eig.summary() and "basis_errors" not in eig.info


def test_light_and_moments_are_the_same_on_the_other_basis():
    """H frozen at a time when the field is on: the check freezes the other H then, too."""
    field = zt.LengthGauge(zt.Static(amplitude=0.5, ramp=1.0))
    model = zt.Model([zt.Kinetic(), zt.Harmonic(1.0), field])
    H = zt.discretize(model, zt.Grid(24, 0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eig = zt.eigenstates(H.at(2.0), 1, basis_check=True)
    # E = ω/2 − F²/2ω², exact on this grid; without the field the change would be 0.125.
    assert eig.energies[0] == pytest.approx(0.375, abs=1e-4)
    assert eig.info["energy_errors"][0] < 1e-3


def test_what_nobody_checked_is_told_beside_the_bound_of_the_solver():
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), zt.Grid(31, 0.4))
    unchecked, checked = (zt.eigenstates(H, 1, basis_check=wish) for wish in (False, True))
    for told in (unchecked.summary(), repr(unchecked)):
        assert "not checked (basis_check=True)" in told
    for told in (checked.summary(), repr(checked)):
        assert "not checked" not in told
