"""The verbs: what `evolve` returns and refuses, and derivatives through it."""

from __future__ import annotations

import functools
import itertools
from typing import Any, ClassVar, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import systems
import zitter as zt
from marks import slow
from systems.levels import SIGMA_X
from zitter.results import step_error
from zitter.solve.guards import AccuracyWarning

# evolve: records, times, states


def test_records_times_and_states():
    """103 steps, a record every 10: at the start, after each ten, and at the end."""
    system = systems.detuned_coupling()
    sol: Any = zt.evolve(
        system.H,
        system.start,
        (0.0, 1.03),
        0.01,
        zt.Taylor(12),
        [zt.Norm(), zt.Populations(np.eye(2))],
        save_every=10,
        save_states=True,
    )
    np.testing.assert_allclose(sol.times, [*np.arange(11) * 0.1, 1.03], atol=1e-14)
    expected = np.array([system.exact(t) for t in sol.times])
    np.testing.assert_allclose(sol.states, expected, atol=1e-12)
    np.testing.assert_allclose(sol.observables["populations"], np.abs(expected) ** 2, atol=1e-12)
    np.testing.assert_allclose(np.asarray(sol.final), expected[-1], atol=1e-12)
    assert sol.info["steps"] == 103
    assert sol.info["propagator"] == "Taylor"
    assert abs(sol.info["norm_loss"]) < 1e-12
    assert "Solution: 12 records" in repr(sol)
    for text in (repr(sol), sol.summary()):  # nobody asked for it
        assert "not checked (step_check=True)" in text


class FailingAtTheEnd(zt.Taylor):
    """Good at the first look, which follows the only whole interval."""

    looks: ClassVar = itertools.count()

    def problem(self, H, memory, dt):
        return "It failed." if next(self.looks) else None


def test_steps_after_the_last_record_are_guarded_too(tmp_path):
    """The whole interval before them is the last that was good, and is kept."""
    system, failing = systems.detuned_coupling(), cast(Any, FailingAtTheEnd)
    options = {"save_every": 10, "checkpoint": tmp_path / "kept"}
    with pytest.raises(zt.RunError, match=r"It failed\. The state after 10 steps is kept"):
        zt.evolve(system.H, system.start, (0.0, 0.13), 0.01, failing(4), **options)
    assert (tmp_path / "kept" / "state.h5").exists()


def test_dt_is_made_to_fit_the_span():
    system = systems.detuned_coupling()
    sol = zt.evolve(system.H, system.start, (0.5, 1.5), 0.3, zt.Lanczos(2))
    assert sol.info["steps"] == 4
    assert sol.info["dt"] == pytest.approx(0.25)
    assert sol.times[-1] == pytest.approx(1.5)


def test_error_estimates_bound_the_error():
    """Lanczos and Fehlberg report the sum of their local estimates."""
    system = systems.free_gaussian()
    for propagator, dt in ((zt.Lanczos(6), 0.2), (zt.RungeKuttaFehlberg45(), 0.03)):
        sol = zt.evolve(system.H, system.start, (0.0, system.end), dt, propagator)
        found = system.error(sol.final)
        assert 1e-9 < found < sol.info["error_estimate"] < 30 * found


def test_single_precision_follows_the_state():
    system = systems.oscillator_ground_state()
    sol = zt.evolve(
        system.H,
        system.start.astype(jnp.complex64),
        (0.0, 1.0),
        0.02,
        zt.SplitOperator(),
        [zt.Norm()],
    )
    assert sol.final.dtype == jnp.complex64
    assert sol.observables["norm"].dtype == np.float32
    assert sol.info["precision"] == "single"
    assert system.error(sol.final, 1.0) < 1e-3  # Δt²/24 of the splitting and 50 roundings


@pytest.mark.parametrize(
    "change, message",
    [
        ({"psi0": np.ones(3)}, "psi0: must have the shape of the basis"),
        ({"psi0": np.array([1.0, np.nan])}, "psi0: must be finite"),
        ({"psi0": np.zeros(2)}, "psi0: must not vanish"),
        ({"t": (1.0, 0.0)}, "t: must end after it starts"),
        ({"t": 3.0}, "t: must be a pair"),
        ({"dt": -0.1}, "dt: must be positive"),
        ({"save_every": 0}, "save_every: must be at least 1"),
        ({"propagator": "lanczos"}, "propagator: must be a Propagator"),
        ({"H": 3}, "H: must be a Hamiltonian"),
        ({"dt": 5.0, "propagator": zt.RungeKutta4()}, "dt: must be below"),
        ({"dt": 500.0, "t": (0.0, 5000.0), "propagator": zt.Taylor(tol=1e-9)}, "dt: must be small"),
        ({"dt": 9.0, "propagator": zt.MatrixExponential(zt.TaylorSum(10))}, "dt: must be below"),
        ({"dt": 40.0, "propagator": zt.MatrixExponential(zt.CosSin(10))}, "dt: must be below"),
    ],
)
def test_refusals(change, message):
    system = systems.detuned_coupling()
    given = {"H": system.H, "psi0": system.start, "t": (0.0, 100.0), "dt": 0.1} | change
    with pytest.raises(zt.InputError, match=message):
        zt.evolve(**given)


def test_methods_refuse_what_they_cannot_treat():
    grid = zt.Grid(32, 0.4)
    stencil = zt.discretize(zt.Model([zt.Kinetic(order=2), zt.SoftCoulomb()]), grid)
    spectral = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), grid)
    open_ = zt.discretize(zt.Model([zt.Kinetic(), zt.ComplexAbsorber(2.0)]), grid)
    pulse = zt.SineSquared(amplitude=0.1, frequency=1.0, cycles=2)
    velocity = zt.discretize(zt.Model([zt.Kinetic(), zt.VelocityGauge(pulse)]), grid)
    for H, propagator in (
        (stencil, zt.SplitOperator()),
        (velocity, zt.SplitOperator()),
        (spectral, zt.CrankNicolson()),
        (open_, zt.Chebyshev()),
        (open_, zt.MatrixExponential()),
        (velocity, zt.MatrixExponential()),
    ):
        with pytest.raises(zt.Unsupported):
            zt.evolve(H, np.ones(32), (0.0, 1.0), 0.01, propagator)


def test_bounds_hold_for_a_potential_that_equal_samples_meet_at_its_zeros():
    """128 periods: samples at equal steps would see V(t) only where sin t = 0."""
    tilted = zt.Potential(expression="3*x*sin(t)")
    H = zt.discretize(zt.Model([zt.Kinetic(), tilted]), zt.Grid(16, 0.8))
    low, high = H.changing[0].bounds(0.0, 256 * np.pi)
    steepest = 3 * 7.5 * 0.8
    assert low < -steepest < steepest < high < 1.2 * steepest


@pytest.mark.slow
def test_bounds_hold_for_a_pulse_of_many_cycles():
    """A sampling that meets only the zeros of the carrier would let Chebyshev diverge."""
    pulse = zt.SineSquared(amplitude=2.0, frequency=8.0, cycles=64, cep=np.pi / 2)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.LengthGauge(pulse)]), zt.Grid(16, 0.8))
    from zitter.propagators.base import spectral_bounds

    low, high = spectral_bounds(H, (0.0, float(pulse.duration)))
    middle = 0.5 * float(pulse.duration)
    times = np.linspace(middle - 0.5, middle + 0.5, 41)
    energies = [np.linalg.eigvalsh(np.asarray(H.at(t).as_matrix())) for t in times]
    assert np.max(energies) < float(high)
    assert np.min(energies) > float(low)
    assert np.max(energies) > 0.7 * float(high)


# Derivatives

TARGET = {
    "taylor": zt.Taylor(12),
    "lanczos": zt.Lanczos(12),
    "lanczos-cf4": zt.Lanczos(12, zt.CommutatorFree4()),
    "rk4": zt.RungeKutta4(),
    "rkf45": zt.RungeKuttaFehlberg45(),
    "cos-sin": zt.MatrixExponential(zt.CosSin(14)),
    "paterson-stockmeyer": zt.MatrixExponential(zt.PatersonStockmeyer(degree=6, powers=3)),
}
FEW = ("lanczos",)


def excited(amplitude, propagator, dt=0.05):
    """Population of the upper of two levels after a pulse."""
    pulse = zt.SineSquared(amplitude=amplitude, frequency=1.0, cycles=3)
    model = zt.Model([zt.Matrix([0.0, 1.0]), zt.DrivenMatrix(SIGMA_X, pulse=pulse)])
    H = zt.discretize(model, zt.Levels(2))
    duration = 3 * 2 * np.pi
    final = zt.evolve(H, jnp.array([1.0, 0.0]), (0.0, duration), dt, propagator).final
    return jnp.abs(final[1]) ** 2


@pytest.mark.parametrize("name", [n if n in FEW else slow(n) for n in TARGET])
def test_gradient_of_a_population_in_the_pulse_amplitude(name):
    """Central difference of step 1e-4: its own error is 1e-9 relative. Also where the Krylov space
    is exhausted, so that noise must not be normalized."""
    propagator, h = TARGET[name], 1e-4
    value, slope = jax.value_and_grad(lambda a: excited(a, propagator))(0.1)
    assert float(value) == pytest.approx(float(excited(0.1, propagator)), abs=1e-13)
    difference = (excited(0.1 + h, propagator) - excited(0.1 - h, propagator)) / (2 * h)
    assert float(slope) == pytest.approx(float(difference), rel=1e-6)


def survival(amplitude, propagator, order):
    """Ground-state population of soft-core hydrogen after a pulse."""
    grid = zt.Grid(64, 0.5)
    pulse = zt.SineSquared(amplitude=amplitude, frequency=0.6, cycles=1)
    model = zt.Model([zt.Kinetic(order=order), zt.SoftCoulomb(), zt.LengthGauge(pulse)])
    H = zt.discretize(model, grid)
    ground = zt.eigenstates(H.static, 1).states[0]
    span = (0.0, 2 * np.pi / 0.6)
    final = zt.evolve(H, ground, span, 0.1, propagator).final
    return jnp.abs(grid.inner(ground, final)) ** 2


@pytest.mark.parametrize(
    "propagator, order",
    [
        (zt.SplitOperator(2), "spectral"),
        slow(zt.SplitOperator(4), "spectral"),
        slow(zt.Lanczos(10), "spectral"),
        slow(zt.CrankNicolson(), 2),
        slow(zt.CrankNicolson(), 4),
    ],
    ids=["split-2", "split-4", "lanczos", "tridiagonal", "banded"],
)
def test_gradient_of_soft_core_hydrogen_s_survival(propagator, order):
    h = 1e-4
    slope = jax.grad(lambda a: survival(a, propagator, order))(0.08)
    ends = [survival(0.08 + s * h, propagator, order) for s in (1, -1)]
    assert float(slope) == pytest.approx(float((ends[0] - ends[1]) / (2 * h)), rel=1e-6)
    assert abs(float(slope)) > 1e-3


@pytest.mark.slow
def test_vmap_over_amplitudes():
    amplitudes = jnp.array([0.02, 0.1, 0.3])
    together = jax.vmap(lambda a: excited(a, zt.Taylor(12)))(amplitudes)
    alone = [float(excited(float(a), zt.Taylor(12))) for a in amplitudes]
    np.testing.assert_allclose(np.asarray(together), alone, atol=1e-13)


def test_jit_with_and_without_observables():
    system = systems.detuned_coupling()

    @jax.jit
    def run(psi):
        kept = zt.evolve(
            system.H,
            psi,
            (0.0, 1.0),
            0.1,
            zt.Taylor(12),
            [zt.Norm()],
            save_every=5,
            save_states=True,
        )
        bare = zt.evolve(system.H, psi, (0.0, 1.0), 0.1, zt.Taylor(12))
        return kept.observables["norm"], kept.states, bare.final

    norm, states, final = run(system.start)
    np.testing.assert_allclose(np.asarray(norm), 1, atol=1e-13)
    np.testing.assert_allclose(np.asarray(states[1]), system.exact(0.5), atol=1e-12)
    np.testing.assert_allclose(np.asarray(final), system.exact(1.0), atol=1e-12)


def test_a_function_that_encloses_a_traced_number():
    """What a driving function encloses is found out by its values."""

    def final(strength):
        drive = zt.DrivenMatrix(SIGMA_X, function=lambda t: strength * jnp.cos(t))
        H = zt.discretize(zt.Model([zt.Matrix([0.0, 1.0]), drive]), zt.Levels(2))
        psi = zt.evolve(H, jnp.array([1.0, 0.0]), (0.0, 2.0), 0.05, zt.Taylor(12)).final
        return jnp.abs(psi[1]) ** 2

    slope = jax.grad(final)(0.3)
    h = 1e-4
    assert float(slope) == pytest.approx(float(final(0.3 + h) - final(0.3 - h)) / (2 * h), rel=1e-6)


def test_what_cannot_be_traced_is_refused():
    with pytest.raises(zt.InputError, match="degree: must be given"):
        jax.grad(lambda a: excited(a, zt.MatrixExponential()))(0.1)
    with pytest.raises(zt.InputError, match="order: must be given"):
        jax.grad(lambda a: excited(a, zt.Taylor(tol=1e-9)))(0.1)
    with pytest.raises(zt.InputError, match="Chebyshev"):
        jax.grad(lambda a: excited(a, zt.Chebyshev()))(0.1)
    system = systems.detuned_coupling()
    with pytest.raises(zt.InputError, match="t: must be numbers known beforehand"):
        jax.grad(lambda end: zt.evolve(system.H, system.start, (0.0, end), 0.1).final[0].real)(1.0)
    grid = zt.Grid(16, 0.5)
    H = zt.discretize(zt.Model([zt.Kinetic()]), grid)
    with pytest.raises(zt.InputError, match="Density has every = 5"):
        jax.jit(lambda psi: zt.evolve(H, psi, (0.0, 1.0), 0.1, observables=[zt.Density(5)]).final)(
            jnp.ones(16)
        )


STEP_CHECKED = {
    "split 2": (zt.SplitOperator(2), "spectral", 0.1),
    "split 4": (zt.SplitOperator(4), "spectral", 0.2),
    "lanczos": (zt.Lanczos(16), "spectral", 0.1),
    "magnus": (zt.Lanczos(16, scheme=zt.CommutatorFree4()), "spectral", 0.1),
    "crank-nicolson": (zt.CrankNicolson(), 8, 0.05),
    "runge-kutta": (zt.RungeKutta4(), 8, 0.01),
}


@functools.cache
def converged(order):
    """H, the ground state, a pulse's time, and where a run over it ends."""
    pulse = zt.SineSquared(amplitude=0.1, frequency=1.0, cycles=2)
    terms = [zt.Kinetic(order=order), zt.SoftCoulomb(softening=2.0), zt.LengthGauge(pulse)]
    H = zt.discretize(zt.Model(terms), zt.Grid(63, 0.4))
    psi = zt.eigenstates(H.static, 1).states[0]
    span = (0.0, float(pulse.duration))
    method = zt.Lanczos(16, scheme=zt.CommutatorFree4())
    return H, psi, span, zt.evolve(H, psi, span, 0.01, method).final


@pytest.mark.parametrize(
    "name", [slow(n) if n in ("split 2", "split 4", "magnus") else n for n in STEP_CHECKED]
)
def test_step_error_is_the_true_error(name):
    """Richardson's estimate, doubled, against a converged run: it covers, and not by much."""
    method, order, dt = STEP_CHECKED[name]
    H, psi, span, exact = converged(order)
    sol = zt.evolve(H, psi, span, dt, method, step_check=True)
    true = float(H.basis.norm(sol.final - exact))
    assert true < sol.info["step_error"] < 4 * true


def test_the_error_of_a_number_by_the_step():
    """A change that vanishes by chance is not believed beside the error of the state; what is
    conserved to rounding is, and a state far off leaves nothing known."""
    course = [3.0, 4.0, 5.0]
    assert step_error(3e-3, course, 2 / 3, 1e-3) == pytest.approx(2e-3)
    assert step_error(1e-9, course, 2 / 3, 1e-3) == pytest.approx(0.1 * 1e-3 * 2 + 1e-6 * 5)
    assert step_error(1e-15, course, 2 / 3, 1e-3) < 1e-14
    assert step_error(1e-3, course, 2 / 3, 5.0) > 10.0
    assert step_error(2e-3j, [1.0, 1.0j], 2 / 3, 1e-3) == pytest.approx(2e-3 * 2 / 3)
    both = np.array([[3.0, 1.0], [5.0, 1.0]])
    np.testing.assert_allclose(step_error([3e-3, 0.0], both, 1.0, 1e-3), [3e-3, 0.0])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::zitter.bases.edges.ConvergenceWarning")
def test_the_own_estimate_of_a_method_counts_for_observables():
    """Lanczos of order 6 with steps far too long: runs with one and two of them agree in what is
    wrong, and the position was once off by 8.6 beside a stated 0.5."""
    grid = zt.Grid(96, 0.35)
    x = grid.points(0)
    psi = grid.normalize(jnp.asarray(np.exp(-((x - 1) ** 2) / 2 + 1.5j * x)))
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), grid)
    watched = [zt.Position(), zt.Momentum()]
    with pytest.warns(AccuracyWarning):
        sol = zt.evolve(H, psi, (0, 12.0), 0.6, zt.Lanczos(6), watched, step_check=True)
    best = zt.evolve(H, psi, (0, 12.0), 0.6, zt.Chebyshev(), watched)
    for name, stated in sol.step_errors.items():
        assert abs(sol.observables[name][-1] - best.observables[name][-1]) < stated


def test_a_pulse_that_ends_within_a_step_leaves_no_order_to_rely_on():
    """Fourth order: 2/15 of the difference was stated where the error was five times as large."""
    pulse = zt.SineSquared(amplitude=0.1, frequency=0.8, cycles=1)
    grid = zt.Grid(100, 0.8)
    model = zt.Model([zt.Kinetic(), zt.SoftCoulomb(), zt.LengthGauge(pulse)])
    H = zt.discretize(model, grid)
    psi = grid.normalize(jnp.asarray(np.exp(-(grid.points(0) ** 2) / 2)))
    T = float(pulse.duration)

    def run(end, steps, order=4):
        method = zt.SplitOperator(order)
        return zt.evolve(H, psi, (0.0, end), end / steps, method, step_check=True)

    aligned, apart = run(1.5 * T, 48), run(1.25 * T, 26)
    assert aligned.info["step_error_share"] == pytest.approx(2 / 15)
    assert apart.info["step_error_share"] == pytest.approx(2.0)
    exact = zt.evolve(H, psi, (0.0, 1.25 * T), T / 800, zt.SplitOperator(4)).final
    true = float(grid.norm(jnp.asarray(apart.final) - jnp.asarray(exact)))
    assert true < apart.info["step_error"] < 1e-2
    assert run(1.25 * T, 26, 2).info["step_error_share"] == pytest.approx(2 / 3)
    assert run(0.625 * T, 14).info["step_error_share"] == pytest.approx(2 / 15)  # ends before it


@pytest.mark.parametrize(
    ("field", "kinks"),
    [
        (zt.SineSquared(amplitude=1.0, frequency=1.0, cycles=2, start=3.0), [3.0, 3 + 4 * np.pi]),
        (zt.Static(amplitude=1.0, ramp=2.0, start=1.0), [1.0, 3.0, np.inf, np.inf]),
        (zt.Static(amplitude=1.0, ramp=2.0, duration=9.0), [0.0, 2.0, 7.0, 9.0]),
        (
            zt.Trapezoid(amplitude=1.0, frequency=np.pi, ramp_cycles=1, plateau_cycles=3),
            [0.0, 2.0, 8.0, 10.0],
        ),
    ],
)
def test_where_fields_have_kinks(field, kinks):
    np.testing.assert_allclose(field.kinks, kinks)
    assert (field + field).kinks == 2 * field.kinks


@pytest.mark.slow
def test_observables_carry_the_error_of_the_step(tmp_path):
    """Richardson's estimate of each number against a converged run, in tables and files as well."""
    H, psi, span, exact = converged("spectral")
    watched = [zt.Norm(), zt.Dipole(), zt.Populations(n=2), zt.Density(every=2)]
    sol = zt.evolve(H, psi, span, 0.2, zt.SplitOperator(), watched, step_check=True)
    best = zt.evolve(H, psi, span, 0.02, zt.SplitOperator(4), watched)
    for name in ("dipole", "populations"):
        true = np.abs(sol.observables[name][-1] - best.observables[name][-1])
        stated = sol.step_errors[name]
        assert np.all(stated < 10 * true + 1e-9) and np.all(true < stated + 1e-9)
    true = np.sum(np.abs(np.abs(sol.final) ** 2 - np.abs(best.final) ** 2))
    assert true < np.sum(sol.step_errors["density"]) < 4 * true  # seldom, but at the end, too
    assert sol.step_errors["norm"] < 1e-12  # it splits, but stays unitary

    def staying(state):
        return abs(H.basis.inner(psi.astype(complex), jnp.asarray(state))) ** 2

    true = abs(staying(sol.final) - staying(exact))
    assert true < sol.step_error_of(staying) < 4 * true
    sol.save(tmp_path / "run.h5")
    again = zt.load(tmp_path / "run.h5")
    np.testing.assert_array_equal(again.step_errors["populations"], sol.step_errors["populations"])
    assert again.step_error_of(staying) == pytest.approx(sol.step_error_of(staying), rel=1e-12)
    assert set(again.observables) == {"norm", "dipole", "populations", "density"}
    assert again.numbers()["errors"]["dipole_step_error"].shape == sol.step_errors["dipole"].shape
    assert "error by the step" in sol.summary() and "not checked" not in sol.summary()
    with pytest.raises(zt.InputError, match="step_check: must have been on"):
        best.step_error_of(staying)
