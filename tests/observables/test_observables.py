"""Observables against theorems: Ehrenfest, continuity, conservation."""

from __future__ import annotations

import numpy as np
import pytest

import systems
import zitter as zt
from systems import oscillator

PULSE = zt.SineSquared(amplitude=0.1, frequency=0.8, cycles=2)
GRID = zt.Grid(150, 0.4)
MODEL = zt.Model([zt.Kinetic(), zt.SoftCoulomb(), zt.LengthGauge(PULSE)])
DT = 0.04


@pytest.fixture(scope="module")
def driven():
    """Soft-core hydrogen in a pulse, recorded at each step."""
    H = zt.discretize(MODEL, GRID)
    return zt.evolve(
        H,
        zt.eigenstates(H.static, 1).states[0],
        (0.0, float(PULSE.duration)),
        DT,
        zt.Lanczos(14, zt.CommutatorFree4()),
        [
            zt.Norm(),
            zt.Energy(),
            zt.Position(),
            zt.Dipole(),
            zt.Momentum(),
            zt.Acceleration(),
            zt.Flux(5.0),
            zt.Ionization(5.0),
            zt.Density(every=20),
            zt.Populations(n=3),
        ],
        save_every=1,
    )


def derivative(values, dt):
    """Central difference of order 6 on the inner points."""
    v = np.asarray(values)
    return (45 * (v[4:-2] - v[2:-4]) - 9 * (v[5:-1] - v[1:-5]) + (v[6:] - v[:-6])) / (60 * dt)


def test_ehrenfest(driven):
    """d⟨x⟩/dt = ⟨p⟩ and d⟨p⟩/dt = −⟨V′⟩ − E(t); differences of order 6 leave (ωΔt)⁶ ≈ 1e-8."""
    o, t = driven.observables, driven.times
    dt = t[1] - t[0]
    inner = slice(3, -3)
    np.testing.assert_allclose(derivative(o["position"], dt), o["momentum"][inner], atol=1e-7)
    field = np.asarray(PULSE.electric_field(t))
    force = (o["acceleration"] - field)[inner]
    np.testing.assert_allclose(derivative(o["momentum"], dt), force, atol=1e-6)
    np.testing.assert_allclose(o["dipole"], -o["position"])


def test_flux_is_the_rate_at_which_probability_leaves(driven):
    """Simpson over records: ∫ flux dt = P_out(end) − P_out(start)."""
    o, t = driven.observables, driven.times
    n = (len(t) - 1) // 2 * 2
    h = t[1] - t[0]
    flux = o["flux"][: n + 1]
    integral = h / 3 * (flux[0] + flux[-1] + 4 * flux[1:-1:2].sum() + 2 * flux[2:-1:2].sum())
    left = o["ionization"][n] - o["ionization"][0]
    assert left > 1e-3
    assert integral == pytest.approx(left, abs=1e-7)


def test_norm_stays_and_density_adds_up_to_it(driven):
    o = driven.observables
    np.testing.assert_allclose(o["norm"], 1, atol=1e-11)
    np.testing.assert_allclose(o["density"].sum(axis=1) * GRID.volume, 1, atol=1e-11)


def test_sparse_observables_have_their_own_times(driven):
    expected = [*driven.times[:-1][::20], driven.times[-1]]  # and the end
    np.testing.assert_allclose(driven.times_of("density"), expected, atol=1e-12)
    assert len(driven.observables["density"]) == len(driven.times_of("density"))
    assert driven.observables["density"].shape[1:] == GRID.shape


def test_populations_start_in_the_ground_state(driven):
    o = driven.observables
    np.testing.assert_allclose(o["populations"][0], [1, 0, 0], atol=1e-12)
    assert o["populations"][-1].sum() < 1
    assert o["populations"][-1][1] > 1e-4


def test_energy_follows_the_work_done_by_the_field(driven):
    """d⟨H⟩/dt = ⟨∂H/∂t⟩ = ⟨x⟩ dE/dt for H = H₀ + xE(t); differences as in Ehrenfest's theorem."""
    o, t = driven.observables, np.asarray(driven.times)
    h = 1e-3
    one, two = (
        np.asarray(PULSE.electric_field(t + k * h) - PULSE.electric_field(t - k * h))
        for k in (1, 2)
    )
    expected = o["position"] * (8 * one - two) / (12 * h)
    work = derivative(o["energy"], t[1] - t[0])
    assert np.abs(work).max() > 0.01  # there was something to see
    np.testing.assert_allclose(work, expected[3:-3], atol=1e-6)


def test_energy_stays_where_the_hamiltonian_does():
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), GRID)
    psi = GRID.normalize(GRID.sample(lambda x: np.exp(-((x - 1) ** 2)) + 0j))
    sol = zt.evolve(H, psi, (0.0, 4.0), 0.05, zt.Lanczos(20), [zt.Energy()], save_every=20)
    np.testing.assert_allclose(sol.observables["energy"], sol.observables["energy"][0], atol=1e-11)


def test_coherent_state_observables_are_the_classical_orbit():
    system = systems.driven_oscillator()
    sol = zt.evolve(
        system.H,
        system.start,
        (0.0, 1.5),
        0.02,
        zt.SplitOperator(4),
        [zt.Position(), zt.Momentum(), zt.Acceleration(), zt.Energy()],
        save_every=15,
    )
    t, o = sol.times, sol.observables
    q, p = oscillator.position(t), oscillator.momentum(t)
    np.testing.assert_allclose(o["position"], q, atol=1e-8)
    np.testing.assert_allclose(o["momentum"], p, atol=1e-8)
    push = oscillator.FORCE * np.cos(oscillator.DRIVE * t)
    np.testing.assert_allclose(o["acceleration"], -q - push, atol=1e-8)
    np.testing.assert_allclose(o["energy"], 0.5 + p**2 / 2 + q**2 / 2 + push * q, atol=1e-8)


def test_vectors_in_two_dimensions_and_two_particles():
    grid = zt.Grid((24, 26), 0.5)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), grid)
    psi = grid.sample(lambda x, y: np.exp(-((x - 1) ** 2 + (y + 0.5) ** 2) / 2 + 0.3j * x))
    sol = zt.evolve(
        H,
        grid.normalize(psi),
        (0.0, 0.1),
        0.05,
        zt.SplitOperator(),
        [zt.Position(), zt.Momentum(), zt.Acceleration()],
    )
    np.testing.assert_allclose(sol.observables["position"][0], [1, -0.5], atol=1e-6)
    np.testing.assert_allclose(sol.observables["momentum"][0], [0.3, 0], atol=1e-6)
    np.testing.assert_allclose(sol.observables["acceleration"][0], [-1, 0.5], atol=1e-6)
    pair = zt.Grid((24, 24), 0.5, particles=2)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), pair)
    psi = pair.sample(lambda a, b: np.exp(-((a - 1) ** 2 + (b - 0.5) ** 2) / 2))
    sol = zt.evolve(
        H, pair.normalize(psi), (0.0, 0.1), 0.05, zt.SplitOperator(), [zt.Position(), zt.Dipole()]
    )
    assert sol.observables["position"][0] == pytest.approx(1.5, abs=1e-6)  # both particles
    assert sol.observables["dipole"][0] == pytest.approx(-1.5, abs=1e-6)


def test_instantaneous_populations_follow_an_adiabatic_motion():
    """A slowly moved well keeps its electron in its own ground state, not in the first one's."""
    grid = zt.Grid(80, 0.4)
    well = zt.SoftCoulomb(motion=zt.Path(lambda t: 2e-3 * t**2))
    H = zt.discretize(zt.Model([zt.Kinetic(), well]), grid)
    rest = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), grid)
    psi = zt.eigenstates(rest, 1).states[0]
    sol = zt.evolve(
        H,
        psi,
        (0.0, 30.0),
        0.1,
        zt.SplitOperator(),
        [zt.InstantaneousPopulations(1, every=10), zt.Populations(psi[None])],
        save_every=10,
    )
    # The boost of the last velocity, 0.12, is part of ψ but not of φ: (0.12)² ⟨x²⟩ ≈ 2 %.
    own = sol.observables["instantaneous_populations"]
    assert own.shape == (4, 1)
    np.testing.assert_allclose(sol.times_of("instantaneous_populations"), [0, 10, 20, 30])
    assert own[0, 0] == pytest.approx(1, abs=1e-12)
    assert own[-1, 0] > 0.97
    assert sol.observables["populations"][-1][0] < 0.7


@pytest.mark.parametrize("basis, radius", [
    (zt.Grid((40,), 0.5), 10.2),
    (zt.Grid((16, 16, 16), 0.5), 7.0),
    (zt.SphericalBasis(zt.RadialBSplines(20, 6, 24.0), 1), 24.0),
    (zt.SphericalBasis(zt.RadialBSplines(20, 6, 24.0, scaling=zt.ExteriorScaling(15.0)), 1), 16.0),
    (zt.ProlateSpheroidal(R=2.0, rmax=20.0), 25.0),
])  # fmt: skip
def test_a_sphere_around_everything_is_refused(basis, radius):
    """It would call all that is left bound, and a surface in the box would never be passed."""
    H = zt.discretize(zt.Model([zt.Kinetic()]), basis)
    with pytest.raises(zt.InputError, match=r"radius: must l.*but is \d+"):
        zt.Ionization(radius).prepare(H, zt.eigenstates)
    with pytest.raises(zt.InputError, match=r"radius: must l.*but is 1e\+300"):
        zt.Ionization(1e300).prepare(H, zt.eigenstates)
    assert zt.Ionization(6.0).prepare(H, zt.eigenstates)


def test_refusals_of_observables():
    H = zt.discretize(zt.Model([zt.Matrix([0.0, 1.0])]), zt.Levels(2))
    words = "observables.1: must suit this model, but Position cannot be measured on a Levels: "
    with pytest.raises(zt.InputError, match=words):
        zt.evolve(H, [1.0, 0.0], (0.0, 1.0), 0.1, observables=[zt.Norm(), zt.Position()])
    with pytest.raises(zt.InputError, match="every: must be at least 1"):
        zt.Norm(every=0)
    with pytest.raises(zt.InputError, match="radius: must be positive"):
        zt.Flux(-1.0)
    with pytest.raises(zt.InputError, match="states: must be several states, or n = "):
        zt.Populations(2)
    with pytest.raises(zt.InputError, match=r"observables\.0\.states: must have shape"):
        zt.evolve(H, [1.0, 0.0], (0.0, 1.0), 0.1, observables=[zt.Populations(np.eye(3))])
    with pytest.raises(zt.InputError, match="must differ"):
        zt.evolve(H, [1.0, 0.0], (0.0, 1.0), 0.1, observables=[zt.Norm(), zt.Norm()])
