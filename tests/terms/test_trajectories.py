"""Paths of moving centres, and the potentials they make."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt

PAIR = np.array([[-1.0], [1.0]])
SPACE = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])


def test_rigid_breathing_and_constant_velocity():
    shift = 0.5 * np.sin(3 * 0.7)
    np.testing.assert_allclose(zt.Rigid(0.5, 3.0).positions(0.7, PAIR), PAIR + shift)
    np.testing.assert_allclose(zt.Breathing(0.5, 3.0).positions(0.7, PAIR), PAIR * (1 + shift))
    np.testing.assert_allclose(zt.ConstantVelocity(0.2).positions(0.7, PAIR), PAIR + 0.14)
    apart = zt.ConstantVelocity([-0.1, 0.3]).positions(2.0, PAIR)
    np.testing.assert_allclose(apart, [[-1.2], [1.6]])


def test_paths_in_space():
    along_x = zt.Rigid(0.5, 3.0, axis=0).positions(0.7, SPACE)
    np.testing.assert_allclose(along_x, SPACE + [0.5 * np.sin(2.1), 0, 0])
    breathing = zt.Breathing(0.5, 3.0).positions(0.7, SPACE)
    np.testing.assert_allclose(breathing, SPACE * (1 + 0.5 * np.sin(2.1)))
    moved = zt.ConstantVelocity([1.0, 0.0, 2.0]).positions(0.5, SPACE)
    np.testing.assert_allclose(moved, SPACE + [0.5, 0, 1.0])


def test_tabulated_path_follows_the_function_it_was_made_of():
    """A cubic spline through sin at steps of 0.05: error 5/384 · 0.05⁴ ≈ 8e-8."""
    times = np.linspace(0, 4, 81)
    tabulated = zt.TabulatedPath(times, np.stack([np.sin(times) - 1, np.cos(times)], axis=1))
    path = zt.Path(lambda t: jnp.stack([jnp.sin(t) - 1, jnp.cos(t)]))
    for t in (0.0, 0.513, 2.2, 4.0):
        a, b = tabulated.positions(t, PAIR), path.positions(t, PAIR)
        np.testing.assert_allclose(a, b, atol=2e-7)
    np.testing.assert_allclose(tabulated.positions(9.0, PAIR), tabulated.positions(4.0, PAIR))


def test_moving_potential_is_the_static_one_at_the_moved_place():
    grid = zt.Grid(40, 0.3)
    term = zt.SoftCoulomb(Z=[1.0, 2.0], centers=[-1.0, 1.0], motion=zt.Breathing(0.3, 2.0))
    moving = zt.discretize(zt.Model([zt.Kinetic(), term]), grid)
    d = 1 + 0.3 * np.sin(2 * 0.4)
    rest = zt.SoftCoulomb(Z=[1.0, 2.0], centers=[-d, d])
    still = zt.discretize(zt.Model([rest]), grid)
    found = moving.changing[0].at(0.4).full()
    np.testing.assert_allclose(np.asarray(found), np.asarray(still.fixed.full()), rtol=1e-14)


def test_single_precision_keeps_time_in_double():
    """At t = 1e5 a phase computed in float32 would be off by 3e-3; the potential is not."""
    grid = zt.Grid(20, 0.5)
    term = zt.SoftCoulomb(motion=zt.Rigid(1.0, 3.0))
    H = zt.discretize(zt.Model([zt.Kinetic(), term]), grid)
    t = 1e5 + 0.123
    exact = np.asarray(H.changing[0].at(t).full())
    single = H.astype(np.float32).changing[0].at(jnp.float64(t)).full()
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(np.asarray(single), exact, rtol=1e-6)


def test_refusals_of_trajectories():
    with pytest.raises(zt.InputError, match="times: must be at least two increasing"):
        zt.TabulatedPath([0.0, 0.0], [0.0, 1.0])
    with pytest.raises(zt.InputError, match="positions: must hold 2 centre"):
        zt.TabulatedPath([0.0, 1.0], [0.0, 1.0]).positions(0.0, PAIR)
    with pytest.raises(zt.InputError, match="axis: must be"):
        zt.Rigid(1.0, 1.0, axis=2).positions(0.0, PAIR)
    with pytest.raises(zt.InputError, match="velocity: must be"):
        zt.ConstantVelocity([1.0, 2.0, 3.0]).positions(0.0, PAIR)
    with pytest.raises(zt.InputError, match="function: must be"):
        zt.Path(3.0)
