"""All propagators against SciPy's dense exponential, on a small random problem."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import systems
import zitter as zt

N, SPAN = 24, (0.3, 1.1)
PULSE = zt.SineSquared(amplitude=0.8, frequency=2.0, cycles=2, cep=0.4)
rng = np.random.default_rng(3)
GRID = zt.Grid(N, 0.35)
PSI = jnp.asarray(rng.normal(size=N) + 1j * rng.normal(size=N))
VALUES = rng.normal(size=N)
ABSORBER = zt.ComplexAbsorber(2.0)


def hamiltonian(order="spectral", light=True, absorber=False):
    terms = [zt.Kinetic(order=order), zt.Potential(array=VALUES)]
    terms += [zt.LengthGauge(PULSE)] if light else []
    terms += [ABSORBER] if absorber else []
    return zt.discretize(zt.Model(terms), GRID)


@eqx.filter_jit
def matrix(H, weights, times):
    return H.mix(weights, times).as_matrix()


def cayley(a):
    one = np.eye(len(a))
    return np.linalg.solve(one + 0.5 * a, one - 0.5 * a)


def reference(H, stages, steps, step_matrix=lambda a: scipy.linalg.expm(-a)):
    """Π over steps and stages of exp(−iΔt Σ w H(t + cΔt)), or another function of it."""
    dt = (SPAN[1] - SPAN[0]) / steps
    psi = np.asarray(PSI)
    for n in range(steps):
        t = SPAN[0] + n * dt
        for weights, nodes in stages:
            frozen = np.asarray(matrix(H, weights, [jnp.float64(t + c * dt) for c in nodes]))
            psi = step_matrix(1j * dt * frozen) @ psi
    return psi


def distance(a, b):
    return np.linalg.norm(np.asarray(a) - b) / np.linalg.norm(b)


EXPONENTIALS = {
    "taylor": lambda scheme: zt.Taylor(tol=1e-14, scheme=scheme),
    "lanczos": lambda scheme: zt.Lanczos(N, scheme),
    "chebyshev": lambda scheme: zt.Chebyshev(1e-14, scheme),
    "paterson-stockmeyer": lambda scheme: zt.MatrixExponential(scheme=scheme),
    "cos-sin": lambda scheme: zt.MatrixExponential(zt.CosSin(30), scheme),
    "taylor-sum": lambda scheme: zt.MatrixExponential(zt.TaylorSum(30), scheme),
}


@pytest.mark.parametrize("scheme", [zt.Midpoint(), zt.CommutatorFree4()], ids=["midpoint", "cf4"])
@pytest.mark.parametrize("name", EXPONENTIALS)
def test_time_dependent_steps_are_the_scheme_s_exponentials(name, scheme):
    """The same product of exponentials, so only rounding is left: 12 steps, ‖HΔt‖ ≈ 4."""
    H = hamiltonian()
    found = systems.propagate(H, PSI, EXPONENTIALS[name](scheme), SPAN, 12)
    assert distance(found, reference(H, scheme.stages, 12)) < 1e-12


@pytest.mark.parametrize("name", EXPONENTIALS)
def test_static_hamiltonian(name):
    H = hamiltonian(light=False)
    expected = scipy.linalg.expm(-1j * (SPAN[1] - SPAN[0]) * np.asarray(H.as_matrix())) @ PSI
    found = systems.propagate(H, PSI, EXPONENTIALS[name](zt.Midpoint()), SPAN, 12)
    assert distance(found, expected) < 1e-12


@pytest.mark.parametrize("light", [False, True])
@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_crank_nicolson_is_cayley_s_form(order, light):
    """Half widths 1 to 4: the tridiagonal solver and block cyclic reduction."""
    H = hamiltonian(order, light)
    found = systems.propagate(H, PSI, zt.CrankNicolson(), SPAN, 12)
    assert distance(found, reference(H, zt.Midpoint.stages, 12, cayley)) < 1e-12


@pytest.mark.parametrize("name", ["taylor", "lanczos"])
def test_complex_absorber(name):
    """Taylor knows no difference; Lanczos turns to Arnoldi's orthogonalization."""
    H = hamiltonian(absorber=True)
    scheme = zt.CommutatorFree4()
    found = systems.propagate(H, PSI, EXPONENTIALS[name](scheme), SPAN, 12)
    expected = reference(H, scheme.stages, 12)
    assert distance(found, expected) < 1e-12
    assert np.linalg.norm(found) < 0.95 * np.linalg.norm(PSI)  # it did absorb


@pytest.mark.parametrize("order", [2, 8])
def test_complex_absorber_with_crank_nicolson(order):
    H = hamiltonian(order, absorber=True)
    found = systems.propagate(H, PSI, zt.CrankNicolson(), SPAN, 12)
    assert distance(found, reference(H, zt.Midpoint.stages, 12, cayley)) < 1e-12


@pytest.mark.parametrize(
    "propagator, order, steps",
    [
        (zt.SplitOperator(2), 2, (160, 320)),
        (zt.SplitOperator(4), 4, (30, 60)),
        (zt.RungeKutta4(), 4, (160, 320)),
        (zt.RungeKuttaFehlberg45(), 5, (160, 320)),
    ],
    ids=["split-2", "split-4", "rk4", "rkf45"],
)
@pytest.mark.parametrize("absorber", [False, True], ids=["closed", "absorbing"])
def test_other_methods_converge_to_it_with_their_order(propagator, order, steps, absorber):
    """ψ is random, so that every wave of the grid counts; CF4 with 1280 steps is the reference."""
    H = hamiltonian(absorber=absorber)
    exact = systems.propagate(H, PSI, zt.Taylor(20, scheme=zt.CommutatorFree4()), SPAN, 1280)
    found = [distance(systems.propagate(H, PSI, propagator, SPAN, n), exact) for n in steps]
    assert found[-1] > 1e-11
    assert -np.polyfit(np.log(steps), np.log(found), 1)[0] == pytest.approx(order, abs=0.15)


# With the number of products that follow each other in one step, each rounding once.
SINGLE = {
    "taylor": (zt.Taylor(16), 16),
    "lanczos": (zt.Lanczos(16), 16),
    "chebyshev": (zt.Chebyshev(1e-8), 12),
    "split-2": (zt.SplitOperator(2), 5),
    "split-4": (zt.SplitOperator(4), 2 * 25),
    "matrix": (zt.MatrixExponential(), 8),
    "rk4": (zt.RungeKutta4(), 4),
    "rkf45": (zt.RungeKuttaFehlberg45(), 6),
    "rkf45-adaptive": (zt.RungeKuttaFehlberg45(1e-7), 12),
}


@pytest.mark.parametrize("name", SINGLE)
def test_single_precision_stays_single(name):
    """The state stays complex64; rounding (6e-8 each) adds up linearly at worst."""
    propagator, products = SINGLE[name]
    H, steps = hamiltonian(), 200
    double = systems.propagate(H, PSI, propagator, SPAN, steps)
    single = systems.propagate(H, PSI.astype(jnp.complex64), propagator, SPAN, steps)
    assert single.dtype == jnp.complex64
    assert 1e-8 < distance(single, np.asarray(double)) < 6e-8 * steps * products


def test_single_precision_crank_nicolson():
    for order in (2, 6):
        H = hamiltonian(order)
        double = systems.propagate(H, PSI, zt.CrankNicolson(), SPAN, 100)
        single = systems.propagate(H, PSI.astype(jnp.complex64), zt.CrankNicolson(), SPAN, 100)
        assert single.dtype == jnp.complex64
        assert 1e-9 < distance(single, np.asarray(double)) < 1e-5


@pytest.mark.slow
def test_velocity_gauge_on_a_zero_boundary_and_on_a_periodic_grid():
    """Complex Hermitian H(t); on the periodic grid also the split operator, whose p is diagonal."""
    scheme = zt.CommutatorFree4()
    for boundary, order in (("zero", "spectral"), ("periodic", "spectral"), ("zero", 4)):
        terms = [
            zt.Kinetic(order=order),
            zt.Potential(array=VALUES),
            zt.VelocityGauge(PULSE, order=order),
        ]
        H = zt.discretize(zt.Model(terms), zt.Grid(N, 0.35, boundary))
        expected = reference(H, scheme.stages, 12)
        found = systems.propagate(H, PSI, zt.Taylor(30, scheme=scheme), SPAN, 12)
        assert distance(found, expected) < 1e-12
        if boundary == "periodic":
            fine = reference(H, scheme.stages, 100)
            split = systems.propagate(H, PSI, zt.SplitOperator(4), SPAN, 200)
            assert distance(split, fine) < 1e-7


@pytest.mark.parametrize("absorber", [False, True], ids=["velocity", "velocity-absorbing"])
def test_taylor_sum_takes_a_complex_matrix(absorber):
    """The paper's sum carries real and imaginary parts: no structure of H is assumed."""
    terms = [zt.Kinetic(), zt.Potential(array=VALUES), zt.VelocityGauge(PULSE)]
    H = zt.discretize(zt.Model(terms + ([ABSORBER] if absorber else [])), GRID)
    steps = 40
    method = zt.MatrixExponential(zt.TaylorSum(30))
    final = zt.evolve(H, PSI, SPAN, (SPAN[1] - SPAN[0]) / steps, method).final
    # 30 terms at dt·|H| < 2 truncate below 1e-20: only rounding of 40 steps is left.
    assert distance(final, reference(H, zt.Midpoint().stages, steps)) < 1e-12
