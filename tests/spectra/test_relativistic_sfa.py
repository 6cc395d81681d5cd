"""The relativistic strong-field approximation against identities, limits and known results."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from zitter import runtime, units
from zitter.spectra import relativistic_sfa as rsfa
from zitter.spectra.momentum_distribution import MomentumDistribution, MomentumGrid, kinetic_energy

C = units.SPEED_OF_LIGHT
runtime.settings()  # double precision for pulses made before any basis


def pulse(amplitude: float = 600.0, cycles: float = 3, cep: float = np.pi) -> zt.SineSquared:
    return zt.SineSquared(
        amplitude=amplitude, frequency=50.0, cycles=cycles, phase_origin="start", cep=cep,
        polarization="x",
    )  # fmt: skip


MOMENTA = np.array([[3.0, 1.0, -2.0], [-5.0, 2.0, 7.0], [0.0, 0.0, 12.0], [9.0, -4.0, 1.0]])


def phases(light: zt.SineSquared, p: np.ndarray, state: rsfa.BoundState):
    """(e^{iΦ}, A, weights) on 40 panels of 40 points, from the formula alone, for each p."""
    x, w = np.polynomial.legendre.leggauss(40)
    half = 0.5 * float(light.duration) / 40
    times = (half * (2 * np.arange(40)[:, None] + 1 + x)).ravel()
    weights = np.tile(half * w, 40)
    a = np.asarray(light.vector_potential(times))
    # Integrals from 0 to each point, by 40 points of their own.
    y, v = np.polynomial.legendre.leggauss(40)
    inner = 0.5 * times[:, None] * (y + 1)
    field = np.asarray(light.vector_potential(inner.ravel())).reshape(inner.shape)
    along, quiver = (0.5 * times * (f @ v) for f in (field, 0.5 * field**2))
    kinetic = kinetic_energy(np.linalg.norm(p, axis=-1), state.c)
    gained, light_cone = kinetic - state.energy, state.c + kinetic / state.c - p[:, 2]
    stretch = (state.c / light_cone)[:, None]
    phase = gained[:, None] * times + stretch * (p[:, :1] * along + quiver)
    return np.exp(1j * phase), a, weights, gained, light_cone


def test_the_volkov_state_solves_the_dirac_equation():
    """i∂ψ/∂t = [cα·(p + A) + βc²]ψ by central differences of the formula in the docstring."""
    c, p, light = 5.0, np.array([0.7, -0.3, 0.4]), pulse(amplitude=2500.0)  # A ~ 50, far beyond c
    energy = np.sqrt(c**4 + c**2 * p @ p)
    light_cone = energy / c - p[2]
    u = np.linalg.eigh(_free(p, c))[1][:, -1]
    x, w = np.polynomial.legendre.leggauss(60)
    duration = float(light.duration)

    def potential(eta):
        return float(light.vector_potential(eta))

    def psi(t, r):
        eta = t - r[2] / c
        nodes = 0.5 * (duration - eta) * (x + 1) + eta
        a = np.asarray(light.vector_potential(nodes))
        action = 0.5 * (duration - eta) * np.sum(w * (p[0] * a + 0.5 * a**2))
        spinor = u + potential(eta) / (2 * light_cone) * (
            rsfa.alpha_x(u) + rsfa.alpha_z(rsfa.alpha_x(u))
        )
        return spinor * np.exp(1j * (p @ r - energy * t + c / light_cone * action))

    t, r, h = 0.4 * duration, np.array([0.1, 0.2, -0.05]), 1e-5

    def slope(f):  # of fourth order: error ~ h⁴ψ⁗/30 ~ (1e-5·2500)⁴
        return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)

    here, a = psi(t, r), potential(t - r[2] / c)
    gradients = [slope(lambda s, e=e: psi(t, r + s * e)) for e in np.eye(3)]
    kinetic = sum(c * matrix @ (-1j * g) for matrix, g in zip(_alphas(), gradients, strict=True))
    image = kinetic + c * a * rsfa.alpha_x(here) + c**2 * np.diag([1, 1, -1, -1]) @ here
    change = 1j * slope(lambda s: psi(t + s, r))
    assert np.linalg.norm(change - image) < 1e-7 * np.linalg.norm(change)


def test_the_atom_or_the_light_may_do_the_work():
    """−i∫⟨ψ|cα·A|φ₀⟩ = −i∫⟨ψ|V|φ₀⟩ − [⟨ψ|1 − α_z|φ₀⟩], since both states solve their equations.

    The right-hand side needs neither I₁ nor I₂ with cα_x: wrong factors, signs or spinors of the
    Volkov state and of φ̃₀ would show. Rounding of Γ(γ − 1) costs four digits.
    """
    state = rsfa.HydrogenGroundState(charge=20.0)
    light, p = pulse(), MOMENTA
    wave, a, weights, gained, light_cone = phases(light, p, state)
    q = p - gained[:, None] / C * np.array([0, 0, 1.0])
    pulled = _attracted(state, q)
    bound = state.transformed(q)
    times_one, times_a = wave @ weights, wave @ (weights * a)
    image = times_one[:, None] * pulled + (times_a / (2 * light_cone))[:, None] * rsfa.alpha_x(
        pulled + rsfa.alpha_z(pulled)
    )
    ends = np.exp(1j * gained * float(light.duration)) * _stretched_end(light, p, light_cone) - 1
    boundary = ends[:, None] * (bound - rsfa.alpha_z(bound))
    expected = rsfa.plane_wave_components(p, -1j * image - boundary, C)
    found = rsfa.volkov_amplitudes(light, p, state)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_slow_light_and_electrons_give_the_ordinary_approximation():
    """c → ∞: −i∫(p_x A + ½A²)e^{iΦ} φ̃(p), φ̃ = √8 Z^{5/2}/π(Z² + p²)²; deviations fall as 1/c."""
    light, gaps = pulse(), []
    for c in (1e5, 1e6):
        state = rsfa.HydrogenGroundState(charge=2.0, c=c)
        wave, a, weights, *_ = phases(light, MOMENTA, state)
        size = np.sum(MOMENTA**2, axis=-1)
        bound = np.sqrt(8 * 2.0**5) / np.pi / (4 + size) ** 2
        expected = -1j * bound * (((MOMENTA[:, :1] * a + 0.5 * a**2) * wave) @ weights)
        found = rsfa.volkov_amplitudes(light, MOMENTA, state)
        assert np.abs(found[:, 1]).max() < 20 / c * np.abs(found).max()  # spin flips die out
        gaps.append(np.abs(found[:, 0] - expected).max() / np.abs(expected).max())
    assert gaps[1] < 2e-5
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=0.05)


def test_one_weak_photon_is_the_photoeffect():
    """P is that of first-order theory with plane waves, and ⟨p_z⟩ = (8/5) E/c (Sommerfeld).

    Corrections are of order Ip/ω = 1 %.
    """
    light = pulse(amplitude=0.01, cycles=15)
    grid = MomentumGrid.spheres(np.linspace(8.0, 11.5, 71), 20, 4)
    found = rsfa.strong_field_distribution(light, grid)
    p, duration = grid.momenta, float(light.duration)
    x, w = np.polynomial.legendre.leggauss(100)
    times = 0.5 * duration * (x + 1)
    a = 0.5 * duration * w * np.asarray(light.vector_potential(times))
    transform = np.exp(1j * (p[:, None] ** 2 / 2 + 0.5) * times) @ a
    expected = p**4 * 4 * np.pi / 3 * 8 / np.pi**2 / (1 + p**2) ** 4 * np.abs(transform) ** 2
    assert found.probability == pytest.approx(np.trapezoid(expected, p), rel=0.01)
    assert found.mean_along_axis / found.probability * C / 49.5 == pytest.approx(1.6, rel=0.01)
    # Only part of the momenta: dP/dp_z holds what the grid holds, cut at both ends.
    pz = np.linspace(-11.5, 11.5, 461)
    part = rsfa.strong_field_distribution(light, MomentumGrid.spheres(p[20:], 20, 4))
    assert np.trapezoid(part.along_axis(pz), pz) == pytest.approx(part.probability, rel=2e-3)
    stronger = rsfa.strong_field_distribution(pulse(amplitude=0.02, cycles=15), grid)
    assert stronger.probability / found.probability == pytest.approx(4, rel=1e-6)


@pytest.mark.parametrize("scale", [0.05, 1.0, 4.0])
def test_the_energy_spectrum_of_fast_electrons_holds_all_of_them(scale):
    """d³P/dp³ = 0.3 e^{−p²/s²}/(πs²)^{3/2} with s from slow to beyond c: ∫ dP/dE dE = 0.3, and the
    mean of √(c²p² + c⁴) − c² over momenta. Trapezoids in E are of second order."""
    s = scale * C
    grid = MomentumGrid.spheres(np.linspace(0.0, 7 * s, 4001), 4, 2)
    density = 0.3 * np.exp(-((grid.momenta / s) ** 2)) / (np.pi * s**2) ** 1.5
    found = MomentumDistribution(grid, np.broadcast_to(density[:, None, None], (4001, 4, 2)))
    energies, spectrum = found.energy_spectrum(C)
    assert np.trapezoid(spectrum, energies) == pytest.approx(0.3, rel=1e-5)
    p, weights = np.polynomial.hermite.hermgauss(80)  # ∫ e^{−x²} x² f(x) dx, even in x
    energy = np.sqrt(C**2 * (s * p) ** 2 + C**4) - C**2
    mean = np.sum(weights * p**2 * energy) / np.sum(weights * p**2)
    assert np.trapezoid(energies * spectrum, energies) / 0.3 == pytest.approx(mean, rel=1e-5)


@pytest.mark.slow
def test_the_distribution_keeps_its_moments():
    """∫dP/dp_z, ∫dP/dE and ∫dP/d(cos θ) are one number; the mean of p_z is that of dP/dp_z."""
    light = pulse(amplitude=200.0, cycles=6)
    grid = MomentumGrid.spheres(np.linspace(0.02, 16.0, 300), 16, 8)
    found = rsfa.strong_field_distribution(light, grid)
    energies, spectrum = found.energy_spectrum(C)
    pz = np.linspace(-16, 16, 321)
    along = found.along_axis(pz)
    total = found.probability
    assert np.trapezoid(spectrum, energies) == pytest.approx(total, rel=1e-3)
    assert found.over_momenta @ grid.weights == pytest.approx(total, rel=1e-12)
    assert np.trapezoid(along, pz) == pytest.approx(total, rel=1e-3)
    assert np.trapezoid(pz * along, pz) == pytest.approx(found.mean_along_axis, rel=1e-2)
    # A mirror across the plane of x and z turns μ and p_y around, and leaves the light as it is.
    other = rsfa.strong_field_distribution(light, grid, rsfa.HydrogenGroundState(mu=-0.5))
    flipped = other.density[:, :, (-np.arange(8)) % 8]
    np.testing.assert_allclose(found.density, flipped, rtol=0, atol=1e-13 * found.density.max())


def test_the_bound_state_is_normalized_and_smooth():
    """∫|φ̃|² d³q = 1; the series near q = 0 joins the closed form."""
    state = rsfa.HydrogenGroundState(charge=30.0)
    x, w = np.polynomial.legendre.leggauss(100)
    s = 0.25 * np.pi * (x + 1)
    q = 30 * np.tan(s)
    weights = 0.25 * np.pi * w * 30 / np.cos(s) ** 2 * 4 * np.pi * q**2
    vectors = q[:, None] * np.array([0.6, 0.0, 0.8])
    # |φ̃|² falls only as q^{−4−2γ}·…: what lies beyond the last point is below 1e-8.
    assert np.sum(weights * np.sum(np.abs(state.transformed(vectors)) ** 2, -1)) == pytest.approx(
        1, abs=1e-8
    )
    edge = 0.02 * 30 * np.array([1 - 1e-9, 1 + 1e-9])[:, None] * np.array([0.6, 0.0, 0.8])
    below, above = state.transformed(edge)
    np.testing.assert_allclose(below, above, rtol=1e-7)


def test_refusals():
    with pytest.raises(zt.InputError, match="polarization"):
        rsfa.volkov_amplitudes(
            zt.SineSquared(amplitude=1, frequency=1, cycles=3, polarization="z"), MOMENTA
        )
    with pytest.raises(zt.InputError, match="must leave no vector potential behind"):
        rsfa.strong_field_distribution(
            zt.HalfCycle(amplitude=1.0, duration=1.0, polarization="x"),
            MomentumGrid.spheres([1.0, 2.0], 4, 4),
        )
    with pytest.raises(zt.InputError, match="duration is infinite"):
        rsfa.volkov_amplitudes(zt.Static(amplitude=1.0, ramp=1.0, polarization="x"), MOMENTA)
    with pytest.raises(zt.InputError, match="momenta"):
        rsfa.volkov_amplitudes(pulse(), [1.0, 2.0])
    with pytest.raises(zt.InputError, match="charge"):
        rsfa.HydrogenGroundState(charge=138.0)


def _alphas() -> list[np.ndarray]:
    pauli = [
        np.array(m, complex) for m in ([[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]])
    ]
    zero = np.zeros((2, 2))
    return [np.block([[zero, s], [s, zero]]) for s in pauli]


def _free(p: np.ndarray, c: float) -> np.ndarray:
    kinetic = sum(c * x * a for x, a in zip(p, _alphas(), strict=True))
    return kinetic + c**2 * np.diag([1.0, 1, -1, -1])


def _attracted(state: rsfa.HydrogenGroundState, q: np.ndarray) -> np.ndarray:
    """The transform of −Z/r φ₀, from (cα·q + βc² − E₀)φ̃₀ = −(Vφ₀)~ replaced by its integral."""
    charge, gamma = state.charge, state.gamma
    ratio = charge / state.c / (1 + gamma)
    large, small = rsfa._power_transforms(charge, gamma - 1, np.linalg.norm(q, axis=-1))
    whole, slim = rsfa._power_transforms(charge, gamma, np.linalg.norm(q, axis=-1))
    bound = state.transformed(q)
    assert ratio > 0
    upper = -charge * bound[..., :2] * (large / whole)[..., None]
    lower = -charge * bound[..., 2:] * (small / slim)[..., None]
    return np.concatenate([upper, lower], axis=-1)


def _stretched_end(light: zt.SineSquared, p: np.ndarray, light_cone: np.ndarray) -> np.ndarray:
    x, w = np.polynomial.legendre.leggauss(100)
    duration = float(light.duration)
    a = np.asarray(light.vector_potential(0.5 * duration * (x + 1)))
    along, quiver = (0.5 * duration * np.sum(w * f) for f in (a, 0.5 * a**2))
    return np.exp(1j * C / light_cone * (p[:, 0] * along + quiver))


def test_every_way_to_say_x_is_one():
    """Two components, or none, are as good as the name; DiracLight takes the same."""
    shape = {"amplitude": 600.0, "frequency": 50.0, "cycles": 3}
    named, *others = (
        zt.SineSquared(**shape, polarization=axis) for axis in ("x", [1.0, 0.0], None)
    )
    expected = rsfa.volkov_amplitudes(named, MOMENTA)
    for other in others:
        np.testing.assert_array_equal(rsfa.volkov_amplitudes(other, MOMENTA), expected)
        zt.DiracLight(other, 2)
