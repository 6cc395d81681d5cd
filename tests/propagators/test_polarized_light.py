"""Light of any polarization on all m: directions, orders, gauges, selection rules, derivatives."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter.hamiltonian import Driven
from zitter.linalg.sums import add
from zitter.terms.light import Component

ATOM = (zt.Kinetic(), zt.Coulomb(Z=1))
RADIAL = zt.RadialBSplines(30, 6, 24.0, "graded", first=0.4, grading=6.0)
BASIS = zt.SphericalBasis(RADIAL, 4, m="all")
END = 8.0


def driven(gauge=zt.LengthGauge, basis=BASIS, amplitude=0.15, **options):
    pulse = zt.SineSquared(cycles=2, frequency=2 * np.pi / 4, amplitude=amplitude, **options)
    return zt.discretize(zt.Model([*ATOM, gauge(pulse)]), basis)


def bound(basis=BASIS, l=0, m=0):
    """The lowest state of (l, m)."""
    states = basis.channels_of(zt.discretize(zt.Model(ATOM), basis).fixed).states(1)[1]
    row = basis.row(l, m)
    return jnp.zeros(basis.shape, complex).at[row].set(states[row, :, 0])


def evolved(H, psi, dt=0.1, **options):
    options = {"save_every": 10**6, "propagator": zt.AngularSplit()} | options
    return zt.evolve(H, psi, (0.0, END), dt, **options)


def populations(basis, psi):
    rows = np.real(np.sum(np.conj(psi) * np.asarray(basis.overlap(psi)), axis=1))
    return dict(zip(basis.channels, rows, strict=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::zitter.spectra.ConvergenceWarning")
def test_linear_light_along_any_direction():
    along_z = zt.SphericalBasis(RADIAL, 4)
    reference = np.asarray(evolved(driven(basis=along_z), bound(along_z)).final)
    by_l = np.real(np.sum(np.conj(reference) * np.asarray(along_z.overlap(reference)), axis=1))
    assert by_l[0] < 0.998
    start = bound()
    for direction in ("z", "x", "y", (1.0, 1.0, 1.0)):
        final = evolved(driven(polarization=direction), start).final
        found = populations(BASIS, final)
        summed = [sum(p for (k, _), p in found.items() if k == l) for l in range(5)]
        np.testing.assert_allclose(summed, by_l, atol=1e-10)
        # ⟨1s|ψ⟩ with its phase
        amplitude = BASIS.inner(start, final) / along_z.inner(bound(along_z), reference)
        assert complex(amplitude) == pytest.approx(1.0, abs=1e-10)


@pytest.mark.filterwarnings("ignore::zitter.spectra.ConvergenceWarning")
@pytest.mark.parametrize("start", [pytest.param((0, 0), marks=pytest.mark.slow), (1, 0)])
def test_elliptic_light_is_the_same_in_any_plane_and_of_order_two(start):
    """From 1s, and from 2p₀ along the axis of the turning field, which has the other parity."""
    options = {"polarization": "x", "ellipticity": 0.6}
    psi = bound(l=start[0], m=start[1])
    runs = [np.asarray(evolved(driven(**options), psi, dt).final) for dt in (0.025, 0.1, 0.2)]
    errors = [float(BASIS.norm(run - runs[0])) for run in runs[1:]]
    # Against a step four times smaller: (16 − 1)/(64 − 1)… of the same series.
    assert np.log2(errors[1] / errors[0]) == pytest.approx(2.07, abs=0.1), errors
    parity = sum(start) % 2
    found = populations(BASIS, runs[1])
    assert max(p for (l, m), p in found.items() if (l + m) % 2 != parity) == 0.0
    assert found[start] < 0.99998
    if start == (0, 0):
        # Major axis z: the field turns in the zx plane, at the cost of the xy plane.
        turned = evolved(driven(polarization="z", ellipticity=0.6), psi).final
        kept = [abs(complex(BASIS.inner(psi, jnp.asarray(run)))) for run in (turned, runs[1])]
        assert kept[0] == pytest.approx(kept[1], abs=1e-10)


def test_light_is_taken_along_the_axes_that_it_has():
    pulse = zt.SineSquared(cycles=2, frequency=1.0, amplitude=0.1, polarization="x", ellipticity=1)
    free = zt.FreeForm.near(pulse, band=(0.5, 1.5))
    across = zt.SineSquared(cycles=2, frequency=1.0, amplitude=0.1, polarization="z")
    for light, lights in ((pulse, 2), (free, 2), (pulse + pulse, 2), (pulse + across, 3)):
        H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(light)]), BASIS)
        assert len(H.changing) == lights


SMALL = zt.SphericalBasis(zt.RadialBSplines(16, 5, 12.0), 2, m="all")
OBLIQUE = {
    "(0, 1, 1)": zt.SineSquared(
        cycles=2, frequency=1.5, amplitude=0.15, polarization=(0, 1, 1), ellipticity=0.6
    ),
    "(1, 1, 1)": zt.SineSquared(
        cycles=2, frequency=1.5, amplitude=0.15, polarization=(1, 1, 1), ellipticity=-0.6
    ),
    "two lines": zt.SineSquared(cycles=2, frequency=1.5, amplitude=0.15, polarization=(1, 2, 3))
    + zt.SineSquared(cycles=4, frequency=3.0, amplitude=0.15, polarization=(-2, 1, 1)),
}


def oblique(pulse, basis):
    """(H, the same with light along x, y and z apart)."""
    H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(pulse)]), basis)
    along = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    changing = tuple(Driven(Component(pulse, True, axis), basis.position(axis)) for axis in along)
    return H, zt.Hamiltonian(basis, H.fixed, changing)


@pytest.mark.slow
@pytest.mark.parametrize("light", OBLIQUE)
def test_light_in_an_oblique_plane_keeps_the_reflection_at_it(light):
    psi, counts, kicked = bound(SMALL), [], []
    for H in oblique(OBLIQUE[light], SMALL):
        split = SMALL.light_split(H.fixed, [part.operator for part in H.changing]).ready()
        split = split.narrowed(psi)
        counts.append(len(split.frame.rows))
        angles = jnp.asarray([part.factor(2.5) for part in H.changing])
        kicked.append(split.leave(split.kick(split.enter(psi), angles)))
    assert counts == [6, 9]
    assert float(SMALL.norm(kicked[0] - psi)) > 0.02
    assert float(SMALL.norm(kicked[0] - kicked[1])) < 1e-12


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::zitter.spectra.ConvergenceWarning")
def test_light_in_an_oblique_plane_is_that_of_three_axes():
    psi = bound(SMALL)
    runs = [evolved(H, psi).final for H in oblique(OBLIQUE["(1, 1, 1)"], SMALL)]
    assert abs(complex(SMALL.inner(psi, runs[0]))) ** 2 < 0.998
    assert float(SMALL.norm(runs[0] - jnp.asarray(runs[1]))) < 1e-10


@pytest.mark.slow
def test_records_in_between_change_nothing():
    H, psi = driven(polarization="x", ellipticity=1.0, amplitude=0.05), bound()
    runs = [evolved(H, psi, save_every=every, observables=[zt.Norm()]) for every in (1, 3, 10**6)]
    assert np.abs(runs[0].observables["norm"] - 1).max() < 1e-12
    # Kicks in different directions add up but for the last l, which holds 1e-8 here.
    for run in runs[1:]:
        assert float(BASIS.norm(jnp.asarray(run.final) - runs[0].final)) < 1e-7


def test_gauges_agree_for_circular_light():
    options = {"polarization": "x", "ellipticity": 1.0, "amplitude": 0.05}
    psi = bound()
    length = evolved(driven(**options), psi, 0.02).final
    velocity = evolved(driven(zt.VelocityGauge, **options), psi, 0.02, propagator=None).final
    overlap = BASIS.inner(jnp.asarray(length), jnp.asarray(velocity))
    assert abs(complex(overlap)) == pytest.approx(1.0, abs=1e-7)


@pytest.mark.slow
def test_circular_light_raises_l_and_m_together():
    """σ⁺ of ten cycles, resonant with 1s → 2p: what turns against the field is off resonance."""
    pulse = zt.SineSquared(
        cycles=10, frequency=0.375, amplitude=0.005, polarization="x", ellipticity=1.0
    )
    H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(pulse)]), BASIS)
    run = zt.evolve(H, bound(), (0.0, float(pulse.duration)), 0.1, save_every=10**6)
    found = populations(BASIS, run.final)
    assert found[1, 1] > 1e-2
    for (l, m), population in found.items():
        if m != l:
            assert population < 1e-4 * found[1, 1], (l, m)


@pytest.mark.filterwarnings("ignore::zitter.spectra.ConvergenceWarning")
@pytest.mark.parametrize("sense", [1, pytest.param(-1, marks=pytest.mark.slow)])
def test_positive_ellipticity_raises_m(sense):
    """x cos ωt + y sin ωt = Re (x + iy) e^{−iωt}, and absorption is what turns as e^{−iωt}."""
    basis = zt.SphericalBasis(zt.RadialBSplines(10, 5, 16.0, "graded", first=0.8), 1, m="all")
    pulse = zt.SineSquared(
        cycles=3, frequency=0.375, amplitude=0.005, polarization="x", ellipticity=1.0 * sense
    )
    H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(pulse)]), basis)
    run = zt.evolve(H, bound(basis), (0.0, float(pulse.duration)), 0.5, save_every=10**6)
    found = populations(basis, run.final)
    # Three cycles leave what turns against the field some width.
    assert found[1, sense] > 30 * found[1, -sense] > 0


@pytest.mark.slow
def test_gradients_where_the_field_is_zero():
    """⟨x⟩ and ⟨y⟩ are linear in a weak field: their derivatives at zero are those ratios."""
    basis = zt.SphericalBasis(zt.RadialBSplines(16, 5, 12.0), 2, m="all")
    start = bound(basis)

    def mean(amplitude):
        H = driven(basis=basis, polarization="x", ellipticity=0.5, amplitude=amplitude)
        run = evolved(H, start, 0.4, observables=[zt.Dipole()])
        return run.observables["dipole"][-1] @ np.array([1.0, 2.0, 0.0])

    slope = jax.grad(mean)
    at_zero, step = float(slope(0.0)), 1e-4
    assert abs(at_zero) > 1e-2
    assert at_zero == pytest.approx(float(mean(step)) / step, rel=1e-5)
    differences = (mean(0.3 + step) - mean(0.3 - step)) / (2 * step)
    assert float(slope(0.3)) == pytest.approx(float(differences), rel=1e-6)


@pytest.mark.slow
def test_potentials_that_differ_in_m_keep_their_axes():
    """B·L of a magnetic field along z, as numbers for each channel: m is not free to be turned."""
    H = driven(polarization="x", amplitude=0.05)
    m = np.asarray([m for _, m in BASIS.channels])[:, None, None]
    zeeman = BASIS.multiply(0.1 * m * np.ones((len(m), *np.shape(RADIAL.radius))))
    H = zt.Hamiltonian(BASIS, add([H.fixed, zeeman]), H.changing)
    split = evolved(H, bound(), 0.02).final
    implicit = evolved(H, bound(), 0.02, propagator=zt.CrankNicolson()).final
    assert float(BASIS.norm(jnp.asarray(split) - implicit)) < 1e-4
    free = evolved(driven(polarization="x", amplitude=0.05), bound(), 0.02).final
    assert float(BASIS.norm(jnp.asarray(split) - free)) > 1e-3


def test_the_last_l_is_judged_by_its_worst_against_what_left_the_start():
    """A weak pulse off resonance: l = 1 holds most in mid-pulse, and little of the whole."""
    basis = zt.SphericalBasis(zt.RadialBSplines(16, 5, 12.0), 1)
    pulse = zt.SineSquared(cycles=6, frequency=0.2, amplitude=3e-4)
    H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(pulse)]), basis)
    with pytest.warns(zt.spectra.ConvergenceWarning, match=r"last l holds .* at some time of"):
        run = zt.evolve(H, bound(basis), (0.0, float(pulse.duration)), 0.5, save_every=10**6)
    rows = np.asarray(run.final)[1:]
    last = float(np.real(np.vdot(rows, basis.overlap(jnp.asarray(rows)))))
    assert 10 * last < run.info["last_l_population"] < 1e-6
    left = 1 - abs(complex(basis.inner(bound(basis), run.final))) ** 2
    assert run.info["last_l_share"] == pytest.approx(run.info["last_l_population"] / left, rel=1e-3)


CIRCULAR = {"polarization": "x", "ellipticity": 1.0}


@pytest.mark.parametrize(
    ("gauge", "light", "count"),
    [(zt.VelocityGauge, CIRCULAR, 15), (zt.LengthGauge, {"polarization": "z"}, 5)],
)
def test_implicit_steps_leave_out_channels_that_the_start_does_not_reach(gauge, light, count):
    """Light in the xy plane keeps the parity of l + m, light along z keeps m."""
    psi, H = bound(), driven(gauge, amplitude=0.05, **light)
    ready = zt.CrankNicolson(1e-13).prepare(H, (0.0, END), 0.1)

    @eqx.filter_jit
    def stepped(method):
        def body(k, carry):
            return method.step(H, carry[0], 2.0 + 0.1 * k, 0.1, carry[1])

        return jax.lax.fori_loop(0, 3, body, (psi, method.init(H, psi, 2.0, 0.1)))

    (found, memory), (whole, other) = stepped(ready.starting(psi)), stepped(ready)
    assert len(ready.starting(psi).separated.rows) == count
    # Five matrices, one for each l, serve all 25 channels, 15, or one each.
    for state in (memory, other):
        leaves = [leaf for leaf in jax.tree.leaves(state.solver) if leaf.ndim == 4]
        assert sum(len(leaf) for leaf in leaves) == 2 * (BASIS.lmax + 1)
    # Both are solved to 1e-13; what goes from run to run has all rows in either case.
    np.testing.assert_allclose(found, whole, atol=1e-12)
    assert memory.middle.shape == other.middle.shape == BASIS.shape
    reached = np.any(np.asarray(found) != 0, axis=1)
    assert reached.sum() <= count and np.abs(np.asarray(whole)[~reached]).max() < 1e-14
    # 2p₀ has the other parity and the same m: with it, circular light takes all channels.
    rows = ready.starting(psi + bound(l=1, m=0)).separated.rows
    assert rows is None if light is CIRCULAR else len(rows) == count
