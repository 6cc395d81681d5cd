"""Sums and multiples of fields."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zitter.checks import InputError
from zitter.fields import FieldSum, HalfCycle, SineSquared

RED = SineSquared(amplitude=0.05, frequency=0.3, cycles=4)
BLUE = SineSquared(amplitude=0.02, frequency=0.6, cycles=4, start=50.0)
T = np.linspace(-5, 120, 97)


def test_two_colors_add():
    both = RED + 0.5 * BLUE
    expected = RED.vector_potential(T) + 0.5 * BLUE.vector_potential(T)
    np.testing.assert_allclose(both.vector_potential(T), expected, atol=1e-16)
    expected = RED.electric_field_xyz(T) + 0.5 * BLUE.electric_field_xyz(T)
    np.testing.assert_allclose(both.electric_field_xyz(T), expected, atol=1e-16)
    assert both.duration == BLUE.duration > RED.duration
    assert both.is_linear
    assert both.polarization is None
    assert repr(both).count("SineSquared") == 2


def test_arithmetic():
    for factor in (2.0, 2, np.float64(2), jnp.float64(2)):
        for field in (factor * RED, RED * factor):
            assert isinstance(field, FieldSum)
            np.testing.assert_array_equal(field.vector_potential(T), 2 * RED.vector_potential(T))
    assert np.all((RED - RED).electric_field(T) == 0)
    np.testing.assert_array_equal((-RED).electric_field(T), -RED.electric_field(T))
    nested = 2 * (RED + BLUE) + RED
    assert [float(factor) for factor in nested.factors] == [2, 2, 1]
    with pytest.raises(TypeError):
        RED + 1.0


def test_scaled_pulses_keep_their_kind():
    """Their amplitudes are those of the light; what has none gets a factor."""
    half = RED.scaled(0.5)
    assert isinstance(half, SineSquared) and half.amplitude == 0.025
    sum_of_three = RED - BLUE + HalfCycle(amplitude=0.01, duration=30.0)
    scaled = sum_of_three.scaled(0.5)
    assert [float(factor) for factor in scaled.factors] == [1, -1, 0.5]
    expected = 0.5 * sum_of_three.electric_field(T)
    np.testing.assert_allclose(scaled.electric_field(T), expected, atol=1e-16)


def test_different_directions_add_as_vectors_only():
    kick = HalfCycle(amplitude=0.01, duration=30.0, polarization="x")
    field = RED + kick
    assert not field.is_linear
    expected = np.stack([kick.electric_field(T), 0 * T, RED.electric_field(T)], axis=-1)
    np.testing.assert_allclose(field.electric_field_xyz(T), expected, atol=1e-16)
    with pytest.raises(InputError, match=r"^polarization: must be the same for all fields"):
        field.vector_potential(0.0)
    # z is what None stands for.
    assert (RED + HalfCycle(amplitude=0.01, duration=30.0, polarization=(0, 0, 1))).is_linear


def test_traced_factors_and_durations():
    slope = jax.grad(lambda c: (c * RED + BLUE).electric_field(20.0))(3.0)
    assert slope == pytest.approx(float(RED.electric_field(20.0)), rel=1e-15)

    def end(length):
        return (RED + SineSquared(amplitude=1.0, frequency=1.0, duration=length)).duration

    assert jax.grad(end)(500.0) == 1


def test_refusals():
    with pytest.raises(InputError, match="fields: must be a list of fields"):
        FieldSum([])
    with pytest.raises(InputError, match="fields: must be a Field, but is 3"):
        FieldSum([RED, 3])
    with pytest.raises(InputError, match=r"factors: must be as many as fields \(1\), but are 2"):
        FieldSum([RED], [1.0, 2.0])
