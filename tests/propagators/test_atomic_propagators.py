"""Propagators on atomic bases: orders, gauges, directions of light, bases against each other."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from systems import propagate

ATOM = (zt.Kinetic(), zt.Coulomb(Z=1))
RADIAL = zt.RadialBSplines(40, 6, 24.0, "graded", first=0.4, grading=6.0)
BASIS = zt.SphericalBasis(RADIAL, 3)
END = 8.0


def pulse(**options):
    return zt.SineSquared(cycles=2, frequency=2 * np.pi / 4, amplitude=0.15, **options)


def hydrogen(gauge, basis=BASIS, **options):
    return zt.discretize(zt.Model([*ATOM, gauge(pulse(**options))]), basis)


@pytest.fixture(scope="module")
def ground():
    return zt.eigenstates(zt.discretize(zt.Model(ATOM), BASIS), 1).states[0].astype(complex)


@pytest.fixture(scope="module")
def states():
    # States above 60 hartree take 1e-7 of the norm here and would only shorten explicit steps.
    return zt.eigenbasis(zt.discretize(zt.Model(ATOM), BASIS), energy_max=60.0)


@pytest.fixture(scope="module")
def exact(states):
    """Final states of both gauges, from the eigenstate basis by a converged Taylor series."""
    result = {}
    for gauge in (zt.LengthGauge, zt.VelocityGauge):
        H = zt.discretize(zt.Model([zt.FieldFree(), gauge(pulse())]), states)
        method = zt.Taylor(tol=1e-12, scheme=zt.CommutatorFree4())
        final = propagate(H, states.state(0).astype(complex), method, (0.0, END), 400)
        result[gauge] = states.on_parent(final)
    return result


METHODS = {
    "implicit, velocity": (zt.CrankNicolson(), zt.VelocityGauge),
    "implicit, length": (zt.CrankNicolson(), zt.LengthGauge),
    "collocation, 1 point": (zt.GaussCollocation(1), zt.VelocityGauge),
    "split": (zt.AngularSplit(), zt.LengthGauge),
    "split, radial order 4": (zt.AngularSplit(4), zt.LengthGauge),
}


@pytest.mark.parametrize(("method", "gauge"), METHODS.values(), ids=METHODS)
def test_second_order_and_unitary(method, gauge, ground, exact):
    H = hydrogen(gauge)
    errors = []
    for steps in (200, 400):
        final = propagate(H, ground, method, (0.0, END), steps)
        assert float(BASIS.norm(final)) == pytest.approx(1.0, abs=2e-11)
        errors.append(float(BASIS.norm(final - exact[gauge])))
    order = np.log2(errors[0] / errors[1])
    assert 1.9 < order < 2.1, errors
    assert errors[1] < 5e-4


@pytest.mark.parametrize("gauge", [zt.LengthGauge, zt.VelocityGauge])
def test_crank_nicolson_among_eigenstates(gauge, states, exact):
    H = zt.discretize(zt.Model([zt.FieldFree(), gauge(pulse())]), states)
    reference = states.project(exact[gauge])
    errors, runs = [], []
    for dt in (0.04, 0.02):
        run = zt.evolve(H, states.state(0), (0.0, END), dt, zt.CrankNicolson(), save_every=100)
        # Residuals of 1e-12 add up over 400 steps at most.
        assert abs(run.info["norm_loss"]) < 1e-9
        assert run.info["residual"] <= 1e-12
        errors.append(float(jnp.linalg.norm(run.final - reference)))
        runs.append(run)
    assert 1.9 < np.log2(errors[0] / errors[1]) < 2.1, errors
    assert errors[1] < 5e-4
    # H₀ is solved exactly and the coupling is weak: few iterations for each step.
    assert 1 <= runs[1].info["iterations"] / runs[1].info["steps"] <= 6
    lanczos = zt.evolve(H, states.state(0), (0.0, END), 0.02, zt.Lanczos(16), save_every=100)
    assert float(jnp.linalg.norm(runs[1].final - lanczos.final)) < 5e-4


@pytest.mark.parametrize("where", [pytest.param("splines", marks=pytest.mark.slow), "eigenstates"])
def test_collocation_of_order_six(where):
    """On splines so coarse that steps resolve their fastest state, 17 hartree: above, the order of
    any collocation falls towards s + 1 (Hairer & Wanner II, IV.15)."""
    coarse = zt.SphericalBasis(zt.RadialBSplines(12, 4, 24.0), 2)
    states = zt.eigenbasis(zt.discretize(zt.Model(ATOM), coarse), 12)
    basis, atom, start = states, (zt.FieldFree(),), states.state(0)
    if where == "splines":
        basis, atom, start = coarse, ATOM, states.on_parent(start)
    H = zt.discretize(zt.Model([*atom, zt.VelocityGauge(pulse())]), basis)
    method = zt.GaussCollocation(3, 1e-13)
    fine, *others = (
        propagate(H, start.astype(complex), method, (0.0, END), n) for n in (240, 80, 40)
    )
    errors = [float(basis.norm(other - fine)) for other in others]
    assert np.log2(errors[1] / errors[0]) == pytest.approx(6, abs=0.4), errors


@pytest.mark.slow
def test_crank_nicolson_among_eigenstates_stops_where_it_does_not_converge(states):
    strong = zt.SineSquared(cycles=2, frequency=0.5, amplitude=500.0)
    H = zt.discretize(zt.Model([zt.FieldFree(), zt.LengthGauge(strong)]), states)
    with pytest.raises(zt.RunError, match=r"BiCGSTAB did not reach 1e-12 .* for which it") as told:
        zt.evolve(H, states.state(0), (0.0, 20.0), 1.0, zt.CrankNicolson())
    named = float(str(told.value).split("take dt = ")[1].split(",")[0])
    run = zt.evolve(H, states.state(0), (10.0, 10.0 + 9 * named), named, zt.CrankNicolson())
    assert run.info["residual"] <= 1e-12


def test_fourth_order_radial_step_without_light(ground, states):
    # A superposition of 1s and 2s turns with known phases; Padé [2/2] has order 4.
    H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(0.0 * pulse())]), BASIS)
    both = states.state(0, 0) + states.state(0, 1)
    phases = jnp.exp(-1j * states.energies * END)
    expected = states.on_parent(both * phases)
    start = states.on_parent(both).astype(complex)
    errors = []
    for steps in (10, 20):
        final = propagate(H, start, zt.AngularSplit(4), (0.0, END), steps)
        errors.append(float(BASIS.norm(final - expected)))
    assert 3.8 < np.log2(errors[0] / errors[1]) < 4.2


def test_gauges_agree(exact):
    # A(END) = 0, so ψ is the same in both but for lmax = 3, which limits the agreement, and the
    # phase ∫A²/2 left out in velocity gauge.
    overlap = BASIS.inner(exact[zt.LengthGauge], exact[zt.VelocityGauge])
    assert abs(complex(overlap)) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("method", "gauge"),
    [
        pytest.param(zt.CrankNicolson(), zt.VelocityGauge, marks=pytest.mark.slow),
        (zt.AngularSplit(), zt.LengthGauge),
    ],
    ids=["implicit", "split"],
)
def test_every_direction_is_the_same(method, gauge):
    basis = zt.SphericalBasis(RADIAL, 2, m="all")
    start = zt.eigenstates(zt.discretize(zt.Model(ATOM), basis), 1).states[0].astype(complex)
    survival = []
    for direction in ("z", (1.0, 1.0, 1.0)):
        H = hydrogen(gauge, basis, polarization=direction)
        final = propagate(H, start, method, (0.0, END), 80)
        survival.append(abs(complex(basis.inner(start, final))) ** 2)
    assert survival[0] < 0.999
    np.testing.assert_allclose(survival, survival[0], atol=1e-10)


def test_circular_light_turns_both_ways_alike():
    basis = zt.SphericalBasis(RADIAL, 2, m="all")
    start = zt.eigenstates(zt.discretize(zt.Model(ATOM), basis), 1).states[0].astype(complex)
    populations = {}
    for ellipticity in (1.0, -1.0):
        H = hydrogen(zt.LengthGauge, basis, polarization="x", ellipticity=ellipticity)
        final = propagate(H, start, zt.AngularSplit(), (0.0, END), 80)
        rows = np.real(np.sum(np.conj(final) * np.asarray(basis.overlap(final)), axis=1))
        populations[ellipticity] = dict(zip(basis.channels, rows, strict=True))
    # E turns from x to y and the electron feels −E: one sense feeds m = +1, the other m = −1.
    right, left = populations[1.0], populations[-1.0]
    assert right[1, 1] == pytest.approx(left[1, -1], rel=1e-9)
    assert right[1, 1] > 3 * right[1, -1]
    assert right[1, 0] < 1e-25


def test_a_scan_is_one_batched_run(states):
    def survival(amplitude):
        light = zt.SineSquared(cycles=2, frequency=2 * np.pi / 4, amplitude=amplitude)
        H = zt.discretize(zt.Model([zt.FieldFree(), zt.VelocityGauge(light)]), states)
        run = zt.evolve(H, states.state(0), (0.0, END), 0.2, zt.Lanczos(8), save_every=10**6)
        return jnp.abs(run.final[0, 0]) ** 2

    amplitudes = jnp.array([0.05, 0.15])
    batch = jax.vmap(survival)(amplitudes)
    single = [float(survival(float(a))) for a in amplitudes]
    np.testing.assert_allclose(batch, single, atol=1e-12)


def test_the_mask_and_the_absorber_lose_norm():
    light = zt.LengthGauge(0.0 * pulse())
    wave = (
        jnp.zeros(BASIS.shape, complex)
        .at[1]
        .set(RADIAL.project(lambda r: r * np.exp(-((r - 12.0) ** 2) / 8 + 1.5j * r)))
    )
    wave = BASIS.normalize(wave)
    lost = {}
    for absorber in (zt.ComplexAbsorber(10.0), zt.MaskAbsorber(10.0)):
        H = zt.discretize(zt.Model([*ATOM, light, absorber]), BASIS)
        run = zt.evolve(H, wave, (0.0, 20.0), 0.1, zt.AngularSplit(), save_every=10**6)
        lost[type(absorber).__name__] = run.info["norm_loss"]
    # k = 1.5 ± 0.5: what comes back from the wall unabsorbed stays below a few per cent.
    assert lost["ComplexAbsorber"] > 0.97
    assert lost["MaskAbsorber"] > 0.9


def test_an_iteration_that_does_not_converge_ends_the_run(ground):
    """F·rmax·dt/2 is 1e3 in length gauge; the step that is named does converge."""
    strong = zt.SineSquared(cycles=2, frequency=2 * np.pi / 4, amplitude=200.0)
    H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(strong)]), BASIS)
    with pytest.raises(zt.RunError, match=r"within 50 iterations at t = .* dt = 0\.4: ") as told:
        zt.evolve(H, ground, (0.0, 8.0), 0.4, zt.CrankNicolson())
    named = float(str(told.value).split("take dt = ")[1].split(",")[0])
    assert named > 1e-4  # F·rmax·dt/2 is then 1
    run = zt.evolve(H, ground, (2.0, 2.0 + 5 * named), named, zt.CrankNicolson())
    assert run.info["residual"] <= 1e-12 and run.info["propagator"] == "CrankNicolson"


def test_refusals():
    H = hydrogen(zt.VelocityGauge)
    with pytest.raises(zt.Unsupported, match="AngularSplit needs light in length gauge"):
        zt.AngularSplit().prepare(H, (0.0, 1.0), 0.1)
    with pytest.raises(zt.Unsupported, match=r"Lanczos needs .* use AngularSplit .* or CrankN"):
        zt.Lanczos().prepare(H, (0.0, 1.0), 0.1)
    turned = zt.RadialBSplines(40, 6, 24.0, scaling=zt.ExteriorScaling(15.0))
    with pytest.raises(zt.Unsupported, match="grows without bound on a complex coordinate"):
        complex_basis = zt.SphericalBasis(turned, 1)
        H = hydrogen(zt.LengthGauge, complex_basis)
        zt.AngularSplit().prepare(H, (0.0, 1.0), 0.1)
    with pytest.raises(zt.Unsupported, match="coordinate; use VelocityGauge, or a ComplexAbs"):
        zt.evolve(H, jnp.ones(complex_basis.shape, complex), (0.0, 1.0), 0.1)
    grid = zt.discretize(zt.Model([zt.Kinetic()]), zt.Grid(16, 0.5))
    with pytest.raises(zt.Unsupported, match=r"AngularSplit cannot treat .* no banded matrix"):
        zt.AngularSplit().prepare(grid, (0.0, 1.0), 0.1)
