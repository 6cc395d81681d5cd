"""Scans over pulse parameters: one batched run gives what single runs give."""

from __future__ import annotations

import contextlib
import gc
import warnings
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter import units
from zitter.bases.edges import ConvergenceWarning
from zitter.plot import sweeps as drawn
from zitter.results.sweep import Sweep

ATOM = (zt.Kinetic(), zt.Coulomb(Z=1))
BASIS = zt.SphericalBasis(zt.RadialBSplines(30, 6, 20.0, "graded", first=0.5, grading=6.0), 2)
END = 8.0


@pytest.fixture(scope="module")
def states():
    return zt.eigenbasis(zt.discretize(zt.Model(ATOM), BASIS), energy_max=10.0)


def pulse(intensity="1e15 W/cm^2", wavelength="25 nm", cep=0.0):
    return zt.SineSquared(cycles=2, intensity=intensity, wavelength=wavelength, cep=cep)


SCANS: dict[str, Any] = {
    "intensity": ["1e14 W/cm^2", "1e15 W/cm^2", "3e15 W/cm^2"],
    "wavelength": ["20 nm", "25 nm", "35 nm"],
    "cep": ["0 deg", "45 deg", "90 deg"],
}


@pytest.mark.parametrize(
    "name", ["intensity", pytest.param("wavelength", marks=pytest.mark.slow), "cep"]
)
def test_eigenstates(name, states):
    def survival(**options):
        light = zt.VelocityGauge(pulse(**options))
        H = zt.discretize(zt.Model([zt.FieldFree(), light]), states)
        final = zt.evolve(H, states.state(0), (0.0, END), 0.2, zt.Lanczos(8), save_every=99).final
        return jnp.abs(final[0, 0]) ** 2

    batch = zt.scan(survival, None, **{name: SCANS[name]})
    single = [float(survival(**{name: value})) for value in SCANS[name]]
    np.testing.assert_allclose(batch, single, atol=1e-12)
    assert np.ptp(batch) > 1e-5  # the parameter does something


@pytest.mark.slow
def test_splines_in_batches():
    """The implicit step on splines, two parameters at once, two points at a time."""
    start = zt.eigenstates(zt.discretize(zt.Model(ATOM), BASIS), 1).states[0]

    def dipole(intensity, cep):
        H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(pulse(intensity, cep=cep))]), BASIS)
        run = zt.evolve(H, start, (0.0, END), 0.2, zt.AngularSplit(), [zt.Dipole()], 20)
        return run.observables["dipole"][:, 2]

    batch = zt.scan(dipole, batch=2, intensity=SCANS["intensity"], cep=SCANS["cep"])
    single = [dipole(i, c) for i, c in zip(SCANS["intensity"], SCANS["cep"], strict=True)]
    np.testing.assert_allclose(batch, np.stack(single), atol=1e-12)


def test_average_over_the_focus(states):
    """Below saturation one photon gives a yield ∝ I: the average is that of the first power."""
    intensities = np.geomspace(1e9, 1e11, 9) / units.INTENSITY_W_PER_CM2

    def ionized(intensity):
        H = zt.discretize(zt.Model([zt.FieldFree(), zt.VelocityGauge(pulse(intensity))]), states)
        final = zt.evolve(H, states.state(0), (0.0, END), 0.1, zt.Lanczos(8), save_every=99).final
        return jnp.sum(jnp.abs(final) ** 2 * (states.energies > 0))

    yields = np.asarray(zt.scan(ionized, intensity=intensities))
    averaged = zt.spectra.focal_average(intensities, yields, "slice")
    # ∫ Y dI/I from 0.01 I₀ to I₀ of Y = Y₀ I/I₀; depletion changes it by about the yield itself.
    assert averaged == pytest.approx(0.99 * yields[-1], rel=1e-3)


@pytest.mark.parametrize("batch", [pytest.param(None, marks=pytest.mark.slow), 2])
def test_warns_of_the_worst_point(batch, states):
    """The same numbers, of the last l and of the wall, as the strongest pulse alone, said once."""

    def ionized(intensity):
        H = zt.discretize(zt.Model([zt.FieldFree(), zt.VelocityGauge(pulse(intensity))]), states)
        run = zt.evolve(H, states.state(0), (0.0, END), 0.2, zt.Lanczos(8), save_every=99)
        return zt.spectra.ionization_yield(states, run.final)

    strong = ["1e14 W/cm^2", "1e17 W/cm^2", "3e16 W/cm^2"]
    with pytest.warns(ConvergenceWarning, match="the last l holds") as alone:
        single = [ionized(intensity) for intensity in strong[:2]]
    with pytest.warns(ConvergenceWarning) as told:
        batched = zt.scan(ionized, batch, intensity=strong)
    assert {str(w.message) for w in told} == {str(w.message) for w in list(alone)[-2:]}
    assert len(told) == 2
    np.testing.assert_allclose(batched[:2], single, atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zt.scan(ionized, batch, intensity=["1e12 W/cm^2", "1e13 W/cm^2"])


@pytest.mark.slow
def test_warns_of_the_wall_and_passes_derivatives():
    start = zt.eigenstates(zt.discretize(zt.Model(ATOM), BASIS), 1).states[0]

    def dipole(intensity):
        H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(pulse(intensity))]), BASIS)
        run = zt.evolve(H, start, (0.0, END), 0.2, zt.AngularSplit(), [zt.Dipole()], 99)
        return run.observables["dipole"][-1, 2]

    strong = np.array([1e-3, 3.0])
    with pytest.warns(ConvergenceWarning, match="is at the wall"):
        values = zt.scan(dipole, intensity=strong)
    slopes = zt.scan(lambda intensity: jax.grad(dipole)(intensity), intensity=strong)
    ahead = zt.scan(dipole, intensity=1.0001 * strong)
    # One-sided difference: a relative 1e-4 of the curvature.
    np.testing.assert_allclose((ahead - values) / (1e-4 * strong), slopes, rtol=1e-3)


@contextlib.contextmanager
def compilations():
    """Programs compiled in the block, as a list."""
    found, counting = [], [True]

    def count(event, duration_secs, **kwargs):
        if counting and event == "/jax/core/compile/backend_compile_duration":
            found.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(count)
    try:
        yield found
    finally:
        counting.clear()


def test_the_same_scan_again_compiles_nothing(states):
    """With other numbers, which are those of single runs."""

    def survival(intensity):
        H = zt.discretize(zt.Model([zt.FieldFree(), zt.VelocityGauge(pulse(intensity))]), states)
        final = zt.evolve(H, states.state(0), (0.0, END), 0.2, zt.Lanczos(8), save_every=99).final
        return jnp.abs(final[0, 0]) ** 2

    zt.scan(survival, intensity=SCANS["intensity"])
    with compilations() as made:
        again = zt.scan(survival, intensity=np.array([0.02, 0.03, 0.04]))
    assert made == []
    np.testing.assert_allclose(again[1], survival(0.03), atol=1e-12)


FACTOR = 2.0


def test_a_scan_follows_what_its_function_sees(monkeypatch):
    """Values that are enclosed, global or changed in place, and functions that are called."""
    table, offset = np.zeros(2), jnp.zeros(2)

    def shifted(x):
        return FACTOR * x + table[0]

    def run(x):
        return shifted(x) + offset[1]

    def check():
        np.testing.assert_array_equal(zt.scan(run, x=[1.0, 3.0]), [run(1.0), run(3.0)])

    check()
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    check()
    table[0] = 5.0
    check()
    offset = offset + 1.0
    check()
    assert float(run(1.0)) == 9.0


def test_arrays_of_a_scan_do_not_outlive_it(states):
    """Programs are kept for scans that are the same, but none of the arrays they were made with."""
    copy = jax.tree.map(lambda x: x + 0 if isinstance(x, jax.Array) else x, states)
    held = [weakref.ref(leaf) for leaf in jax.tree.leaves(copy) if isinstance(leaf, jax.Array)]

    def survival(intensity):
        H = zt.discretize(zt.Model([zt.FieldFree(), zt.VelocityGauge(pulse(intensity))]), copy)
        final = zt.evolve(H, copy.state(0), (0.0, END), 0.2, zt.Lanczos(8), save_every=99).final
        return jnp.abs(final[0, 0]) ** 2

    zt.scan(survival, intensity=[0.02, 0.03])
    assert held and all(ref() is not None for ref in held)
    del copy, survival
    gc.collect()
    assert [ref() for ref in held] == [None] * len(held)


def test_refusals():
    with pytest.raises(zt.InputError, match=r"intensity\.0: must be positive, but is -0\.001"):
        zt.scan(lambda **_: 0.0, intensity=np.array([-1e-3]))
    with pytest.warns(UserWarning, match="1e14 is in atomic units"):
        zt.scan(lambda intensity: intensity, intensity=[1e14])
    with pytest.raises(zt.InputError, match="values: must be of one length, but intensity has 3"):
        zt.scan(lambda **_: 0.0, intensity=[1.0, 2.0, 3.0], cep=[0.0])
    with pytest.raises(zt.InputError, match=r"intensity\.1: must be positive, but is -1"):
        zt.scan(lambda **_: 0.0, intensity=[1.0, -1.0])
    with pytest.raises(zt.InputError, match=r"ellipticity\.1: must be between -1 and 1, but"):
        zt.scan(lambda **_: 0.0, ellipticity=[0.5, 1.5])
    with pytest.raises(zt.InputError, match=r"start\.0: must not be negative, but is -5 fs"):
        zt.scan(lambda **_: 0.0, start=["-5 fs"])
    with pytest.raises(zt.InputError, match=r"wavelength\.0: must be a number in atomic units or"):
        zt.scan(lambda **_: 0.0, wavelength=["800 parsec"])
    with pytest.raises(zt.InputError, match="cep: must be a list of at least one value"):
        zt.scan(lambda **_: 0.0, cep=[])
    with pytest.raises(zt.InputError, match="values: must name at least one argument"):
        zt.scan(lambda **_: 0.0)


def test_warns_of_the_share_of_the_last_l_as_single_runs_do(states):
    """Weak light puts less than 1e-6 into the last l, but that is much of what left the start."""

    def ionized(intensity):
        light = zt.SineSquared(cycles=2, intensity=intensity, wavelength="25 nm")
        H = zt.discretize(zt.Model([zt.FieldFree(), zt.VelocityGauge(light)]), small)
        return zt.evolve(H, small.state(0), (0.0, END), 0.2, zt.Lanczos(8), save_every=99).final

    small = zt.eigenbasis(zt.discretize(zt.Model(ATOM), zt.SphericalBasis(BASIS.radial, 1)), 8)
    weak = ["1e9 W/cm^2", "1e10 W/cm^2"]
    with pytest.warns(ConvergenceWarning, match="the last l holds") as alone:
        for intensity in weak:
            ionized(intensity)
    with pytest.warns(ConvergenceWarning, match="the last l holds") as told:
        zt.scan(ionized, intensity=weak)
    assert [str(w.message) for w in told] in [[str(w.message)] for w in alone]


@pytest.mark.parametrize(
    ("values", "ticks"),
    [([2, 3], ["2", "3"]), ([2, 4, 8, 16], ["2", "4", "8", "16"]), ([100, 101, 199, 200], None),
     ([0.5, 0.7], None), (list(range(20)), None)],
)  # fmt: skip
def test_few_whole_numbers_are_the_ticks_of_a_picture(values, ticks):
    axis = np.asarray(values, float)
    energies, done = np.linspace(-0.5, -0.4, len(axis)), np.ones(len(axis), bool)
    made = Sweep({"lmax": axis}, {"energy": energies}, done, {}, {}, {"lmax": ""}, {}, {})
    ax = drawn.overview(made).axes[0]
    shown = [label.get_text() for label in ax.get_xticklabels()]
    assert (shown == [f"{x:g}" for x in axis]) == (ticks is not None)
    assert ticks is None or (shown == ticks and list(ax.get_xticks()) == values)
