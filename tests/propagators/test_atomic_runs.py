"""Runs on atomic bases: absorbers against large boxes, high l, precision, mass, default methods."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from scipy.special import spherical_jn

import zitter as zt
from marks import slow
from systems import propagate
from zitter import cases, config, solve
from zitter.spectra.directions import harmonics

ATOM = (zt.Kinetic(), zt.Coulomb(Z=1))
STRONG = zt.SineSquared(cycles=4, frequency=0.5, intensity="5e14 W/cm^2")
RADIAL = zt.RadialBSplines(36, 6, 24.0, "graded", first=0.4, grading=6.0)
BASIS = zt.SphericalBasis(RADIAL, 3)
WEAK = zt.SineSquared(cycles=2, frequency=2 * np.pi / 4, amplitude=0.15)
END = 8.0


def box(rmax, scaling=None):
    """Knots at whole numbers, so that the same sphere can be measured in every box."""
    degree, knots = 6, np.arange(rmax + 1.0)
    n = len(knots) - 1 + degree - 2 + (0 if scaling is None else degree - 1)
    return zt.SphericalBasis(zt.RadialBSplines(n, degree, rmax, knots, scaling=scaling), 5)


def ionization(basis, *absorbers):
    """What is not within 15 bohr, every 5 a.u. up to 60 a.u.; the pulse ends at 50."""
    H = zt.discretize(zt.Model([*ATOM, zt.VelocityGauge(STRONG), *absorbers]), basis)
    psi = jnp.zeros(basis.shape, complex)
    psi = psi.at[0].set(basis.radial.project(lambda r: 2 * r * np.exp(-r)))
    run = zt.evolve(H, psi, (0.0, 60.0), 0.1, zt.CrankNicolson(1e-10), [zt.Ionization(15.0)], 50)
    return np.asarray(run.observables["ionization"])


@pytest.fixture(scope="module")
def in_a_large_box():
    return ionization(box(150.0))


@pytest.mark.parametrize(
    ("rmax", "angle", "tolerance"),
    [(50.0, 0.5, 1e-7), (50.0, 0.7, 1e-7), (40.0, 0.6, 1e-5)],
)
@pytest.mark.slow
def test_exterior_scaling_in_time_equals_a_large_box(rmax, angle, tolerance, in_a_large_box):
    """20 bohr on the real axis; what is left is the tail that reaches the end of the contour."""
    found = ionization(box(rmax, zt.ExteriorScaling(20.0, angle)))
    assert in_a_large_box[-1] > 0.2
    np.testing.assert_allclose(found, in_a_large_box, atol=tolerance)


@pytest.mark.slow
def test_a_wall_is_worse(in_a_large_box):
    assert np.abs(ionization(box(40.0)) - in_a_large_box).max() > 1e-4


@pytest.mark.slow
def test_mean_values_need_the_real_axis():
    basis = box(30.0, zt.ExteriorScaling(20.0))
    H = zt.discretize(zt.Model([*ATOM, zt.VelocityGauge(WEAK)]), basis)
    psi = jnp.ones(basis.shape, complex)
    for observable in (zt.Dipole(), zt.Momentum(), zt.Acceleration()):
        with pytest.raises(zt.InputError, match="beyond the radius of ExteriorScaling"):
            zt.evolve(H, psi, (0.0, 0.1), 0.1, zt.CrankNicolson(), [observable])


@pytest.fixture(scope="module")
def atom():
    return zt.discretize(zt.Model(ATOM), BASIS)


@pytest.fixture(scope="module")
def ground(atom):
    return zt.eigenstates(atom, 1).states[0].astype(complex)


@pytest.fixture(scope="module")
def states(atom):
    return zt.eigenbasis(atom, energy_max=60.0)


@pytest.mark.slow
def test_absorber_between_eigenstates_is_that_on_splines(states):
    absorber = zt.ComplexAbsorber(12.0)
    between: Any = zt.discretize(zt.Model([zt.FieldFree(), absorber]), states).absorber
    splines: Any = zt.discretize(zt.Model([*ATOM, absorber]), BASIS).absorber
    psi = states.state(1, 9) + 1j * states.state(2, 4)
    on_splines = BASIS.solve_overlap(splines.apply(states.on_parent(psi)))
    # Projected back on the states, which are not all there are.
    np.testing.assert_allclose(between.apply(psi), states.project(on_splines), atol=1e-11)
    assert not between.hermitian and between.scaled(1j).bounds()[1] > 0


ABSORBED = (zt.LengthGauge(WEAK), zt.ComplexAbsorber(16.0))


@pytest.fixture(scope="module")
def absorbed_on_splines(ground):
    splines = zt.discretize(zt.Model([*ATOM, *ABSORBED]), BASIS)
    return propagate(splines, ground, zt.AngularSplit(4), (0.0, 20.0), 4000)


@pytest.mark.parametrize(
    "method",
    [zt.Lanczos(16), slow(zt.Taylor(20)), slow(zt.RungeKutta4()), zt.CrankNicolson()],
    ids=["Lanczos", "Taylor", "RK4", "CrankNicolson"],
)
def test_a_run_with_an_absorber_on_eigenstates(method, states, absorbed_on_splines):
    expected = absorbed_on_splines
    H = zt.discretize(zt.Model([zt.FieldFree(), *ABSORBED]), states)
    steps = 8000 if isinstance(method, zt.RungeKutta4) else 2000
    found = propagate(H, states.state(0).astype(complex), method, (0.0, 20.0), steps)
    norms = float(BASIS.norm(expected)), float(jnp.linalg.norm(found))
    assert norms[0] < 0.999  # something was absorbed
    # States above 60 hartree are missing, 1e-7 of the norm; the splitting error is (0.005)².
    assert norms[1] == pytest.approx(norms[0], abs=2e-6)


def test_absorbers_that_eigenstates_do_not_take(states, tmp_path):
    with pytest.raises(zt.Unsupported, match="take ComplexAbsorber, which acts in H"):
        zt.discretize(zt.Model([zt.FieldFree(), zt.MaskAbsorber(5.0)]), states)
    states.save(tmp_path / "atom.h5")
    read = zt.read_eigenbasis(tmp_path / "atom.h5")
    with pytest.raises(zt.Unsupported, match="read without their radial functions"):
        zt.discretize(zt.Model([zt.FieldFree(), zt.ComplexAbsorber(5.0)]), read)


def test_angular_momenta_in_the_hundreds():
    """e^{−iκ cos θ}|00⟩ = Σ (−i)^l √(2l+1) j_l(κ)|l0⟩: a kick that fills l up to 200."""
    _, cosine, _ = zt.SphericalBasis(RADIAL, 300).direction(2)
    found = scipy.linalg.expm(-200j * cosine)[:, 0]
    l = np.arange(301)
    expected = (-1j) ** l * np.sqrt(2 * l + 1) * spherical_jn(l, 200.0)
    np.testing.assert_allclose(found, expected, atol=1e-11)
    theta = np.linspace(0.1, 3.0, 5)
    vectors = np.stack([np.sin(theta), np.zeros(5), np.cos(theta)], axis=1)
    total = np.sum(np.abs(harmonics([(250, m) for m in range(-250, 251)], vectors)) ** 2, axis=0)
    np.testing.assert_allclose(total, 501 / (4 * np.pi), rtol=1e-11)


@pytest.mark.slow
def test_a_run_with_l_in_the_hundreds():
    """A kick of 40 a.u. against a shell at 5 bohr: κ = 200 as above, by the propagator itself."""
    basis = zt.SphericalBasis(zt.RadialBSplines(40, 5, 10.0), 300)
    shell = basis.radial.project(lambda r: np.exp(-8 * (r - 5.0) ** 2))
    psi = basis.normalize(jnp.zeros(basis.shape, complex).at[0].set(shell))
    # 1e-4 a.u. of a field of 4e5: the atom has no time to move.
    kick = zt.LengthGauge(zt.Static(amplitude=4e5, ramp=1e-9))
    H = zt.discretize(zt.Model([zt.Kinetic(mass=1e6), kick]), basis)
    run = zt.evolve(H, psi, (1.0, 1.0 + 1e-4), 2e-5, zt.AngularSplit())
    rows = np.real(np.sum(np.conj(run.final) * np.asarray(basis.overlap(run.final)), axis=1))
    assert rows.sum() == pytest.approx(1.0, abs=1e-11)
    # The kick is exact on the eigenvectors of r, each a shell of its own.
    ready = zt.AngularSplit().prepare(H, (1.0, 1.0 + 1e-4), 2e-5)
    radii, forward = np.asarray(ready.split.points), np.asarray(ready.split.forward)
    weights = np.abs(forward @ np.asarray(psi[0])) ** 2
    exact = [(2 * l + 1) * spherical_jn(l, 40 * radii) ** 2 @ weights for l in range(301)]
    assert sum(exact[150:250]) > 0.2
    np.testing.assert_allclose(rows, exact, atol=1e-9)


@pytest.mark.parametrize("kind", [slow("splines"), "eigenstates"])
def test_single_precision(kind, states, ground):
    """complex64 runs stay complex64 and agree with double to steps × ε ≈ 80 × 1e-7."""
    if kind == "splines":
        H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(WEAK)]), BASIS)
        method, start = zt.AngularSplit(), ground
    else:
        H = zt.discretize(zt.Model([zt.FieldFree(), zt.VelocityGauge(WEAK)]), states)
        method, start = zt.Lanczos(16), states.state(0).astype(complex)
    double = zt.evolve(H, start, (0.0, END), 0.1, method, [zt.Norm(), zt.Dipole()], 20)
    single = zt.evolve(
        H, start.astype(jnp.complex64), (0.0, END), 0.1, method, [zt.Norm(), zt.Dipole()], 20
    )
    assert single.final.dtype == np.complex64 and single.info["precision"] == "single"
    for name in ("norm", "dipole"):
        np.testing.assert_allclose(single.observables[name], double.observables[name], atol=2e-5)


def test_gauges_agree_for_another_mass():
    """A muon-like mass of 1.5: (A·p)/m goes with p²/2m, the length gauge has no mass."""
    atom = zt.discretize(zt.Model([zt.Kinetic(mass=1.5), zt.Coulomb(Z=1)]), BASIS)
    states = zt.eigenbasis(atom, energy_max=60.0)
    survival = {}
    for light in (zt.LengthGauge(WEAK), zt.VelocityGauge(WEAK, mass=1.5), zt.VelocityGauge(WEAK)):
        H = zt.discretize(zt.Model([zt.FieldFree(), light]), states)
        method = zt.Lanczos(20, zt.CommutatorFree4())
        final = propagate(H, states.state(0).astype(complex), method, (0.0, END), 200)
        mass = float(getattr(light, "mass", 1.0))
        survival[type(light).__name__, mass] = float(jnp.abs(final[0, 0]) ** 2)
    length = survival["LengthGauge", 1.0]
    assert length < 0.999
    # l ≤ 3 limits the agreement, as for mass 1; a wrong mass is far off.
    assert survival["VelocityGauge", 1.5] == pytest.approx(length, abs=1e-5)
    assert abs(survival["VelocityGauge", 1.0] - length) > 1e-3


def test_a_method_is_chosen_for_splines(ground):
    ends = {}
    for gauge in (zt.LengthGauge, zt.VelocityGauge):
        H = zt.discretize(zt.Model([*ATOM, gauge(WEAK)]), BASIS)
        run = zt.evolve(H, ground, (0.0, END), 0.02, save_every=10**6)
        ends[run.info["propagator"]] = abs(complex(BASIS.inner(ground, run.final))) ** 2
    assert set(ends) == {"AngularSplit", "CrankNicolson"}
    # Two methods and gauges at Δt = 0.02 and l ≤ 3.
    assert ends["AngularSplit"] == pytest.approx(ends["CrankNicolson"], abs=2e-4)


@pytest.mark.slow
def test_a_run_says_that_its_basis_was_too_small(ground):
    H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(WEAK)]), BASIS)
    run = zt.evolve(H, ground, (0.0, END), 0.1, zt.AngularSplit(), save_every=10**6)
    assert run.info["last_l_population"] < 1e-6 and run.info["wall_population"] < 1e-6
    small = zt.SphericalBasis(zt.RadialBSplines(20, 6, 8.0, "graded", first=0.4), 1)
    H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(STRONG)]), small)
    start = zt.eigenstates(H.static, 1).states[0]
    with (
        pytest.warns(zt.spectra.ConvergenceWarning, match=r"lmax = 1 is too small: the last l ho"),
        pytest.warns(zt.spectra.ConvergenceWarning, match=r"rmax = 8 bohr is too small: \d\.\de"),
    ):
        run = zt.evolve(H, start, (0.0, 40.0), 0.1, zt.AngularSplit(), save_every=10**6)
    assert run.info["last_l_population"] > 1e-3 and run.info["wall_population"] > 1e-6


def test_a_run_on_eigenstates_says_so_too(tmp_path):
    small = zt.SphericalBasis(zt.RadialBSplines(20, 6, 8.0, "graded", first=0.4), 1)
    states = zt.eigenbasis(zt.discretize(zt.Model(ATOM), small), energy_max=20.0)
    model = zt.Model([zt.FieldFree(), zt.VelocityGauge(STRONG)])
    H = zt.discretize(model, states)
    with (
        pytest.warns(zt.spectra.ConvergenceWarning, match=r"lmax = 1 is too small: the last l ho"),
        pytest.warns(zt.spectra.ConvergenceWarning, match=r"rmax = 8 bohr is too small: \d\.\de"),
    ):
        run: Any = zt.evolve(H, states.state(0), (0.0, 40.0), 0.1, save_every=1, save_states=True)
    last = np.sum(np.abs(run.states[:, 1]) ** 2, axis=1)
    # The largest at any record, not what is left at the end.
    assert last[-1] < 0.99 * last.max()
    assert run.info["last_l_population"] == pytest.approx(last.max(), rel=1e-12)
    # What is read from a file has no walls.
    states.save(tmp_path / "atom.h5")
    H = zt.discretize(model, zt.read_eigenbasis(tmp_path / "atom.h5"))
    with pytest.warns(zt.spectra.ConvergenceWarning, match="lmax = 1"):
        run = zt.evolve(H, states.state(0), (0.0, 40.0), 0.1, save_every=1)
    assert "wall_population" not in run.info


INPUT = """
[basis]
type = "SphericalBasis"
radial = { type = "RadialBSplines", n = 20, degree = 5, rmax = 12 }
lmax = 1

[model]
terms = [{ type = "Kinetic" }, { type = "Coulomb", Z = 1 }, { type = "GAUGE", pulse = "laser" }]

[laser]
type = "SineSquared"
intensity = "1e13 W/cm^2"
wavelength = "50 nm"
cycles = 2

[evolve]
t = [0, 1]
dt = 0.1
"""


@pytest.mark.parametrize(
    ("gauge", "method"),
    [("LengthGauge", "AngularSplit"), ("VelocityGauge", "CrankNicolson")],
)
def test_input_files_may_leave_the_method_out(gauge, method):
    case: Any = cases.read(config.parse(INPUT.replace("GAUGE", gauge)))
    plan = solve.prepare(case.hamiltonian(), jnp.complex128, **case.options)
    assert type(plan.context.propagator).__name__ == method
