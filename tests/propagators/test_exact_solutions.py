"""Every propagator on systems with a known solution: error, order in Δt, norm."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import systems
import zitter as zt
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.tiles import WholeMatrices
from zitter.propagators.base import ErrorSum
from zitter.propagators.taylor import taylor_series

COSTS = ("order", "real_products")
CF4 = zt.CommutatorFree4()

# Converged in the exponential itself, so that only the time scheme is left.
EXPONENTIALS = {
    "taylor": lambda scheme: zt.Taylor(tol=1e-13, scheme=scheme),
    "lanczos": lambda scheme: zt.Lanczos(20, scheme),
    "chebyshev": lambda scheme: zt.Chebyshev(1e-13, scheme),
    "paterson-stockmeyer": lambda scheme: zt.MatrixExponential(zt.PatersonStockmeyer(), scheme),
    "cos-sin": lambda scheme: zt.MatrixExponential(zt.CosSin(30), scheme),
    "taylor-sum": lambda scheme: zt.MatrixExponential(zt.TaylorSum(30), scheme),
}


def errors(system, propagator, steps):
    return np.array([system.error(system.run(propagator, n)) for n in steps])


def order(found, steps):
    """The exponent p of error ∝ Δt^p, fitted over the given numbers of steps."""
    return -np.polyfit(np.log(steps), np.log(found), 1)[0]


def cost(propagator, system, steps):
    """Applications of H, or matrix products, in one step."""
    ready = propagator.prepare(system.H, (0.0, system.end), system.end / steps)
    return next(v for k, v in ready.report(ErrorSum.zero()).items() if k in COSTS)


# With H fixed the exponential is the solution: the error is the tolerance asked for, per step.


@pytest.mark.parametrize("boundary", ["zero", "periodic"])
@pytest.mark.parametrize("name", EXPONENTIALS)
def test_free_gaussian(name, boundary):
    """20 steps of 1e-13 and a basis that is exact to 1e-10."""
    system = systems.free_gaussian(boundary)
    propagator = EXPONENTIALS[name](zt.Midpoint())
    assert system.error(system.run(propagator, 20)) < system.basis_error


@pytest.mark.parametrize("tol", [1e-5, 1e-8, 1e-11])
@pytest.mark.parametrize(
    "method",
    [
        lambda tol: zt.Taylor(tol=tol),
        lambda tol: zt.Chebyshev(tol),
        lambda tol: zt.MatrixExponential(zt.PatersonStockmeyer(tol)),
    ],
    ids=["taylor", "chebyshev", "paterson-stockmeyer"],
)
def test_tolerance_is_kept_and_not_wasted(method, tol):
    """The error stays below the tolerance per step; a much looser one takes fewer products."""
    system = systems.free_gaussian()
    steps = 10
    propagator = method(tol)
    assert system.error(system.run(propagator, steps)) < steps * tol + system.basis_error
    costs = [cost(method(t), system, steps) for t in (1e-3, tol)]
    assert costs[0] < costs[1]


@pytest.mark.parametrize(("norm", "tol"), [(20.0, 1e-6), (60.0, 1e-6), (200.0, 1e-8)])
def test_doublings_do_not_spend_the_tolerance(norm, tol):
    """Each squaring doubles the error of the exponential that is squared."""
    A = np.random.default_rng(0).standard_normal((40, 40))
    X = A + A.T
    X *= norm / np.linalg.norm(X, 2)
    method = zt.PatersonStockmeyer(tol).for_norm(norm, 1e-13)
    real, imag = method.matrix(jnp.asarray(X), WholeMatrices())
    off = np.asarray(real) + 1j * np.asarray(imag) - scipy.linalg.expm(-1j * X)
    assert np.linalg.norm(off, 2) < tol


@pytest.mark.parametrize("order", [1, 4, 9])
def test_taylor_is_the_series_up_to_its_order(order):
    energies, tau = np.array([0.3, -1.2, 2.0]), 0.7
    terms = [(-1j * tau * energies) ** n / math.factorial(n) for n in range(order + 1)]
    H = Diagonal(energies, (3,))
    total, last = taylor_series(H, jnp.ones(3, complex), tau, order)
    np.testing.assert_allclose(total, sum(terms), rtol=1e-14)
    np.testing.assert_allclose(last, terms[-1], rtol=1e-14)


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-8])
def test_adaptive_fehlberg_keeps_its_tolerance_per_unit_time(tol):
    system = systems.free_gaussian()
    found = system.error(system.run(zt.RungeKuttaFehlberg45(tol), 4))
    assert found < system.end * tol
    # It does not waste steps either: the local error is kept close to the allowed one.
    assert found > 1e-3 * system.end * tol


@pytest.mark.parametrize("boundary", ["zero", "periodic"])
@pytest.mark.parametrize("name", EXPONENTIALS)
def test_stationary_state_only_turns_its_phase(name, boundary):
    system = systems.oscillator_ground_state(boundary)
    propagator = EXPONENTIALS[name](zt.Midpoint())
    # Small enough steps that the paper's sum has no hump: terms of e^{‖H‖Δt} lose that many digits.
    assert system.error(system.run(propagator, 120)) < system.basis_error


@pytest.mark.parametrize("name", EXPONENTIALS)
def test_two_levels_with_constant_coupling(name):
    """Also the case of a Krylov space larger than the whole one."""
    system = systems.detuned_coupling()
    assert system.error(system.run(EXPONENTIALS[name](zt.Midpoint()), 6)) < 1e-12


# With H(t) the time scheme sets the order.

TIME_DEPENDENT = {
    "taylor-midpoint": (zt.Taylor(tol=1e-13), 2, (60, 120)),
    "taylor-cf4": (zt.Taylor(tol=1e-13, scheme=CF4), 4, (16, 32)),
    "lanczos-midpoint": (zt.Lanczos(20), 2, (60, 120)),
    "lanczos-cf4": (zt.Lanczos(20, CF4), 4, (16, 32)),
    "chebyshev-midpoint": (zt.Chebyshev(1e-13), 2, (60, 120)),
    "chebyshev-cf4": (zt.Chebyshev(1e-13, CF4), 4, (16, 32)),
    "matrix-midpoint": (zt.MatrixExponential(), 2, (30, 60)),
    "matrix-cf4": (zt.MatrixExponential(scheme=CF4), 4, (20, 40)),
    "cos-sin-cf4": (zt.MatrixExponential(zt.CosSin(24), CF4), 4, (20, 40)),
    "split-2": (zt.SplitOperator(2), 2, (60, 120)),
    "split-4": (zt.SplitOperator(4), 4, (20, 40)),
    "rk4": (zt.RungeKutta4(), 4, (150, 300)),
}


@pytest.mark.parametrize("name", TIME_DEPENDENT)
def test_order_on_the_driven_oscillator(name):
    """Coherent state with the exact phase; orders are met to 3 % at these steps."""
    propagator, expected, steps = TIME_DEPENDENT[name]
    system = systems.driven_oscillator()
    found = errors(system, propagator, steps)
    assert found[-1] > 20 * system.basis_error, "the basis would hide the order"
    assert order(found, steps) == pytest.approx(expected, abs=0.12)


@pytest.mark.parametrize("stencil", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (6, 8))])
def test_order_of_crank_nicolson_in_time(stencil):
    """Against the same grid's converged solution: Cayley's form has order 2 for every stencil; the
    one of order 4 is below."""
    system = systems.driven_oscillator(order=stencil)
    exact = system.run(zt.Taylor(tol=1e-12, scheme=CF4), 60)
    steps = (100, 200)
    found = [float(system.H.basis.norm(system.run(zt.CrankNicolson(), n) - exact)) for n in steps]
    assert order(found, steps) == pytest.approx(2, abs=0.05)


IMPLICIT = {
    "crank-nicolson": (zt.CrankNicolson(), 2, (100, 200)),
    "collocation-1": (zt.GaussCollocation(1, 1e-13), 2, (100, 200)),
    "collocation-3": (zt.GaussCollocation(3, 1e-13), 6, (12, 24)),
}


@pytest.mark.parametrize("name", IMPLICIT)
def test_order_of_implicit_methods_on_a_line(name):
    """Against the same grid's converged solution; what changes is iterated by collocation, and
    factored with the rest by Crank–Nicolson."""
    method, expected, steps = IMPLICIT[name]
    system = systems.driven_oscillator(order=4)
    exact = system.run(zt.Taylor(tol=1e-13, scheme=CF4), 240)
    found = [float(system.H.basis.norm(system.run(method, n) - exact)) for n in steps]
    assert found[-1] > 1e-9, "the reference would hide the order"
    assert order(found, steps) == pytest.approx(expected, abs=0.05 * expected)


@pytest.mark.parametrize("name", IMPLICIT)
def test_order_of_implicit_methods_on_two_levels(name):
    """A basis without any structure: H₀ as a full inverse, the drive by iteration."""
    method, expected, steps = IMPLICIT[name]
    steps = tuple(n // 2 for n in steps) if expected == 6 else steps
    found = errors(systems.rotating_drive(), method, steps)
    assert order(found, steps) == pytest.approx(expected, abs=0.05 * expected)


def test_crank_nicolson_reaches_the_continuum_solution():
    """Stencil of order 8 at h = 0.15, Δt = 1.5/2000: the error is Δt²/12 · ‖H³ψ‖t ≈ 1e-6."""
    system = systems.driven_oscillator(order=8, points=128, spacing=0.15)
    assert system.error(system.run(zt.CrankNicolson(), 2000)) < 2e-6


@pytest.mark.parametrize(
    "propagator",
    [
        zt.Taylor(tol=1e-12, scheme=CF4),
        zt.Lanczos(20, CF4),
        zt.Chebyshev(1e-12, CF4),
        zt.SplitOperator(4),
        zt.MatrixExponential(scheme=CF4),
        zt.RungeKuttaFehlberg45(1e-10),
    ],
    ids=lambda p: type(p).__name__,
)
def test_boosted_eigenstate_follows_its_well(propagator):
    """Shape, momentum and energy phase; 100 steps converge to what the basis allows."""
    system = systems.moving_well()
    assert system.error(system.run(propagator, 100)) < system.basis_error


@pytest.mark.parametrize("name", ["taylor", "lanczos", "chebyshev"])
def test_rotating_drive(name):
    """A complex Hermitian H(t) with two time factors: order 4, and 1e-8 at Δt = 0.03."""
    system = systems.rotating_drive()
    propagator = EXPONENTIALS[name](CF4)
    found = errors(system, propagator, (50, 100))
    assert found[-1] < 1e-8
    assert order(found, (50, 100)) == pytest.approx(4, abs=0.05)


@pytest.mark.parametrize(
    "propagator, expected",
    [(zt.RungeKutta4(), 4), (zt.RungeKuttaFehlberg45(), 5)],
    ids=lambda p: type(p).__name__,
)
def test_runge_kutta_orders_on_the_rotating_drive(propagator, expected):
    steps = (30, 60)
    found = errors(systems.rotating_drive(), propagator, steps)
    assert order(found, steps) == pytest.approx(expected, abs=0.1)


UNITARY = {
    "lanczos": zt.Lanczos(12),
    "split-2": zt.SplitOperator(2),
    "split-4": zt.SplitOperator(4),
    "matrix": zt.MatrixExponential(),
    "chebyshev": zt.Chebyshev(1e-15),
}


@pytest.mark.parametrize("name", UNITARY)
def test_norm_is_conserved(name):
    """Unitary up to rounding: 60 steps of a few operations each, 1e-15 apiece."""
    system = systems.driven_oscillator()
    psi = system.run(UNITARY[name], 60)
    assert float(system.H.basis.norm(psi)) == pytest.approx(1, abs=5e-13)


def test_norm_is_conserved_by_crank_nicolson():
    system = systems.driven_oscillator(order=6)
    psi = system.run(zt.CrankNicolson(), 100)
    assert float(system.H.basis.norm(psi)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", ["lanczos", "split-2", "split-4", "matrix", "chebyshev"])
def test_symmetric_schemes_run_backwards_to_the_start(name):
    """Midpoint, Strang, the symmetric Blanes–Moan splitting and CF4 are their own adjoints."""
    system = systems.driven_oscillator()
    propagator = zt.Lanczos(20) if name == "lanczos" else UNITARY[name]
    there = system.run(propagator, 60)
    back = systems.propagate(system.H, there, propagator, (system.end, 0.0), 60)
    assert system.error(back, 0.0) < 2e-12


def test_crank_nicolson_runs_backwards_to_the_start():
    system = systems.driven_oscillator(order=4)
    there = system.run(zt.CrankNicolson(), 60)
    back = systems.propagate(system.H, there, zt.CrankNicolson(), (system.end, 0.0), 60)
    assert system.error(back, 0.0) < 2e-12
