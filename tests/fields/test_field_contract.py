"""What every field promises: E = −dA/dt, quiet edges, gradients, dtypes, batches."""

from __future__ import annotations

import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter.fields as fields
from marks import slow

CARRIER = {"amplitude": 0.05, "frequency": 0.3, "start": 4.0}


def table():
    times = np.linspace(4.0, 100.0, 60)
    return times, 0.05 * np.sin(np.pi * (times - 4) / 96) ** 4 * np.cos(0.3 * times)


def bell(s, length=96.0, amplitude=0.05, frequency=0.3):
    return amplitude * jnp.sin(jnp.pi * s / length) ** 4 * jnp.cos(frequency * s)


COEFFICIENTS = 0.05 * np.sin(np.arange(10.0)).reshape(2, 5)
FORMULA = "0.05 * sin(pi * t / 96)**4 * cos(0.3 * t)"
FIELDS = {
    "sine squared": fields.SineSquared(**CARRIER, cycles=4, cep=0.4),
    "sine squared chirped": fields.SineSquared(**CARRIER, duration=90.0, chirp=2e-3),
    "sine squared elliptic": fields.SineSquared(**CARRIER, cycles=3, ellipticity=0.5),
    "sine squared single cycle": fields.SineSquaredField(**CARRIER, cycles=1),
    "sine squared field": fields.SineSquaredField(**CARRIER, cycles=4, cep=0.4),
    "sine squared field odd": fields.SineSquaredField(
        **CARRIER, cycles=2.7, phase_origin="center", ellipticity=-1.0
    ),
    "gaussian": fields.Gaussian(**CARRIER, fwhm=15.0, cep=-1.0, chirp=1e-3),
    "gaussian sharp": fields.Gaussian(**CARRIER, fwhm=15.0, turn_off=0.5, cutoff=0.75),
    "trapezoid": fields.Trapezoid(**CARRIER, ramp_cycles=1.5, plateau_cycles=2),
    "half cycle": fields.HalfCycle(amplitude=-0.05, duration=40.0, start=4.0),
    "static": fields.Static(amplitude=0.05, ramp=20.0, duration=90.0, start=4.0),
    "static for ever": fields.Static(amplitude=0.05, ramp=20.0, start=4.0),
    "tabulated": fields.Tabulated(*table()),
    "tabulated potential": fields.Tabulated(table()[0], vector_potential=table()[1]),
    "waveform": fields.Waveform(bell, duration=96.0, start=4.0),
    "waveform with parameters": fields.Waveform(
        jax.tree_util.Partial(bell, amplitude=0.04), duration=96.0, start=4.0
    ),
    "waveform in words": fields.Waveform(FORMULA, duration=96.0, start=4.0),
    "waveform of the field": fields.Waveform(electric_field=bell, duration=96.0, start=4.0),
    "waveform of the field in words": fields.Waveform(
        electric_field=FORMULA, duration=96.0, start=4.0
    ),
    "free form": fields.FreeForm(COEFFICIENTS, band=(0.2, 0.4), duration=96.0, start=4.0),
    "free form in a plane": fields.FreeForm(
        np.stack([COEFFICIENTS, COEFFICIENTS[::-1]]), band=(0.2, 0.4), duration=96.0, start=4.0
    ),
    "sum": fields.SineSquared(**CARRIER, cycles=4)
    + 0.3 * fields.Gaussian(amplitude=0.05, frequency=0.6, fwhm=15.0),
}
KINKED = fields.Trapezoid(**CARRIER, ramp_cycles=1.5, plateau_cycles=2, smooth=False)
FEW = ("sine squared", "gaussian")  # of whose derivatives fast tests take all
each = pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS.keys())
each_and_kinked = pytest.mark.parametrize(
    "field", [*FIELDS.values(), KINKED], ids=[*FIELDS.keys(), "kinked"]
)


def probes(field):
    """Before, at and after both edges (and where a Gaussian tail underflows), and inside."""
    end = float(field.duration) if np.isfinite(field.duration) else 200.0
    edges = [-1.0, 0.0, 4.0 - 1e-9, 4.0, 4.0 + 1e-9, end - 1e-2, end - 1e-9, end, end + 1e-9]
    return jnp.array([*edges, end + 50.0, *np.linspace(0.0, end, 41)])


@each
def test_electric_field_is_minus_the_slope_of_the_potential(field):
    end = float(field.duration) if np.isfinite(field.duration) else 200.0
    # Sixth-order differences: truncation (ωh)⁶/140 vanishes, roundoff is 1e-16·A/h with A up to 9.
    # The sharp Gaussian ends over a time of 0.3, which leaves (h/0.3)⁶ of its steepest part.
    # Where the third derivative of A jumps, at the knots of its spline by 6e-4, h² of that is left.
    loose = {"gaussian sharp": 1e-9, "tabulated potential": 5e-3**2 * 6e-4}
    tolerance = next((loose[name] for name in loose if field is FIELDS[name]), 2e-12)
    h, t = 0.005, jnp.linspace(4.2, end - 0.2, 301)
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    for potential, electric in (
        (field.vector_potential, field.electric_field),
        (field.vector_potential_xyz, field.electric_field_xyz),
    ):
        pairs = ((w, potential(t + k * h) - potential(t - k * h)) for k, w in weights.items())
        slope = sum(w * pair for w, pair in pairs) / h
        np.testing.assert_allclose(electric(t), -slope, rtol=0, atol=tolerance)


@each
def test_gauss_legendre_integral_of_the_field_gives_the_potential(field):
    # 400 panels of 8 points integrate every smooth pulse here to rounding; jumps of the second
    # derivative of E inside a panel (spline knots, ends of ramps) limit the rest to about 1e-9.
    end = float(field.duration) if np.isfinite(field.duration) else 200.0
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = np.linspace(0.0, end, 401)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges)[:, None] / 2
    integral = np.sum(field.electric_field(middle[:, None] + half * nodes) * half * weights)
    np.testing.assert_allclose(field.vector_potential(end), -integral, atol=2e-7)


@each_and_kinked
def test_silent_outside(field):
    before = jnp.array([-np.inf, -5.0, -1e-12])
    assert np.all(field.vector_potential(before) == 0)
    assert np.all(field.electric_field(before) == 0)
    if np.isfinite(field.duration):
        after = field.duration + jnp.array([1e-9, 1.0, 1e5])
        assert np.all(field.electric_field(after) == 0)
        assert np.all(field.electric_field_xyz(after) == 0)
        # t − start rounds differently from the length, so sin(π)² may be another tiny number.
        residual = float(field.residual_vector_potential)
        np.testing.assert_allclose(field.vector_potential(after), residual, atol=1e-16)


@pytest.mark.parametrize(
    "field",
    [*(FIELDS[name] for name in FEW), *map(slow, (f for n, f in FIELDS.items() if n not in FEW)),
     slow(KINKED)],
    ids=[*FEW, *(n for n in FIELDS if n not in FEW), "kinked"],
)  # fmt: skip
def test_all_derivatives_are_finite(field):
    t = probes(field)
    for order in (field.vector_potential, field.electric_field):
        values = order(t)
        assert np.all(np.isfinite(values))
        slopes = jax.vmap(jax.grad(order))(t)
        assert np.all(np.isfinite(slopes))
    if not np.isfinite(field.duration):
        return

    def total(field, t):
        return jnp.sum(field.electric_field_xyz(t)) + field.vector_potential(t)

    gradients = jax.vmap(jax.grad(total), in_axes=(None, 0))(field, t)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradients))


@each_and_kinked
def test_dtype_follows_time(field):
    t = jnp.linspace(0, 90, 7, dtype=jnp.float32)
    for method in (
        field.vector_potential,
        field.electric_field,
        field.vector_potential_xyz,
        field.electric_field_xyz,
    ):
        single = method(t)
        assert single.dtype == jnp.float32
        assert method(t.astype(jnp.float64)).dtype == jnp.float64
        assert method(3).dtype == jnp.float64
        # Phases up to 27 rad carry 27 · 6e-8, potentials are up to 4 (a static field's −Ft).
        np.testing.assert_allclose(single, method(t.astype(jnp.float64)), atol=3e-6)


@each_and_kinked
def test_shapes_jit_and_vmap_agree(field):
    t = jnp.linspace(0, 90, 12).reshape(3, 4)
    value = field.electric_field(t)
    assert value.shape == (3, 4)
    assert field.electric_field_xyz(t).shape == (3, 4, 3)
    assert field.vector_potential_xyz(0.5).shape == (3,)
    compiled = eqx.filter_jit(lambda f, t: f.electric_field(t))(field, t)
    mapped = jax.vmap(field.electric_field)(t)
    # The same operations, fused differently: some roundings of E of order 0.05.
    np.testing.assert_allclose(compiled, value, atol=1e-15)
    np.testing.assert_allclose(mapped, value, atol=1e-15)


@each
def test_described_for_people_and_for_tracers(field):
    assert repr(field) == field.describe()
    assert "fs" in repr(field)
    seen = []
    jax.jit(lambda f: seen.append(repr(f)))(field)
    assert "traced" in seen[0]
    placeholders = jax.tree.map(lambda leaf: "placeholder", field)
    assert repr(placeholders) == f"<{type(field).__name__}>"


@pytest.mark.parametrize("name", [name for name in fields.__all__ if name != "Field"])
def test_constructors_can_be_read_by_the_input_layer(name):
    parameters = list(inspect.signature(getattr(fields, name).__init__).parameters.values())[1:]
    for parameter in parameters:
        assert parameter.kind is not inspect.Parameter.VAR_KEYWORD
        assert parameter.annotation is not inspect.Parameter.empty
