"""Derivatives of long runs: the same numbers as a plain loop gives, with memory of the root."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter import solve
from zitter.fields import Field
from zitter.solve import course, remembering

ATOM = [zt.Kinetic(), zt.SoftCoulomb(Z=1, softening=2.0)]
GRID = zt.Grid(31, 0.8)


@pytest.mark.parametrize("count", [1, 2, 64, 65, 67, 100, 1000])
def test_loops_are_loops(count):
    """x ← x cos x: prime counts have a rest, roots have none."""

    def plain(x):
        for _ in range(count):
            x = x * jnp.cos(x)
        return x

    def looped(x):
        return remembering.repeated(lambda x: x * jnp.cos(x), x, count)

    def recorded(x):
        last, records = remembering.scanned(lambda x: (x * jnp.cos(x), x), x, count)
        assert records.shape == (count,)
        return last + 0 * records[0]

    def slope(x):
        value, tangent = x, 1.0
        for _ in range(count):
            tangent *= np.cos(value) - value * np.sin(value)
            value *= np.cos(value)
        return value, tangent

    expected = slope(0.3)
    for function in (looped, recorded):
        # Some roundings for each step.
        np.testing.assert_allclose(jax.value_and_grad(function)(0.3), expected, rtol=1e-12)


def test_records_are_in_order():
    _, records = remembering.scanned(lambda n: (n + 1, n), jnp.zeros((), int), 131)
    np.testing.assert_array_equal(records, np.arange(131))


def memory_of_gradient(steps: int, save_every: int | None = None) -> tuple[float, float]:
    """(bytes on the way, dP/dE₀) of a run of so many steps of 0.1."""
    end = 0.1 * steps
    pulse = zt.SineSquared(amplitude=0.03, frequency=0.267, duration=end)
    states = zt.eigenstates(zt.discretize(zt.Model(ATOM), GRID), 2).states
    H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(pulse)]), GRID)
    plan = solve.prepare(
        H, jnp.complex128, (0.0, end), 0.1, zt.SplitOperator(), (), save_every or steps
    )

    def excited(pulse, psi):
        is_field = lambda x: isinstance(x, Field)  # noqa: E731
        context = jax.tree.map(
            lambda x: pulse if is_field(x) else x, plan.context, is_leaf=is_field
        )
        ends, _ = course.course(context, psi, plan.records, plan.tail, None)
        return jnp.abs(GRID.inner(states[1], ends[-1].psi)) ** 2

    start = states[0].astype(complex)
    program = eqx.filter_jit(eqx.filter_value_and_grad(excited)).lower(pulse, start).compile()
    slope = program(pulse, start)[1].carrier.amplitude
    return program.compiled.memory_analysis().temp_size_in_bytes, float(slope)


def test_memory_grows_with_the_root():
    little, _ = memory_of_gradient(1000)
    much, _ = memory_of_gradient(10000)
    # √10 = 3.2; a plain loop takes ten times as much, five states of 500 bytes for each step.
    assert much < 4 * little
    assert much < 1e6 < 5 * 500 * 10000


@pytest.mark.slow
def test_records_on_the_way_change_neither_memory_nor_slope():
    whole, slope = memory_of_gradient(3000)
    often, same = memory_of_gradient(3000, save_every=3)
    assert often < 2 * whole
    # Steps are split up otherwise; 3000 of them round to some 1e-13.
    assert same == pytest.approx(slope, rel=1e-9)
