"""Blocks of moves made together against moves made in turn, and what they rest on."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from walker_programs import begin

from zitter.qmc import ElectronGas, P, SlaterJastrow, U
from zitter.qmc.determinants import elimination
from zitter.qmc.trigonometry import cos_sin
from zitter.qmc.walk import sweep
from zitter.qmc.walk.dynamics import GaussianSteps

KEY = jax.random.PRNGKey(0)


def test_cos_and_sin_of_moderate_angles():
    angles = jnp.asarray(np.random.default_rng(0).uniform(-300, 300, 20_000))
    cosine, sine = cos_sin(angles)
    # One rounding of the angle itself, 300·1.1e-16, and a few of the result.
    np.testing.assert_allclose(cosine, np.cos(angles), atol=4e-14)
    np.testing.assert_allclose(sine, np.sin(angles), atol=4e-14)
    single = cos_sin(angles, jnp.float32)
    assert single[0].dtype == jnp.float32
    np.testing.assert_allclose(single[1], np.sin(angles), atol=3e-7)


def test_moves_together_are_moves_in_turn(monkeypatch):
    """The same random numbers: the same walk, by tables of the block and by one move at a time."""
    gas = ElectronGas(5, 1.0, polarization=0.6, allow_open_shell=True)
    psi = SlaterJastrow(gas, [U(order=4), P(stars=2)], delay=3)
    psi = psi.with_parameters(psi.parameters + 0.1)
    walkers = begin(psi, gas.start(KEY, 3))
    steps = GaussianSteps(jnp.asarray(0.5))
    one = eqx.filter_jit(lambda *a: sweep.sweep(*a))(psi, steps, walkers, KEY)
    monkeypatch.setattr(sweep, "move_together", sweep.move_in_turn)
    other = eqx.filter_jit(lambda *a: sweep.sweep(*a))(psi, steps, walkers, KEY)
    assert np.all(np.asarray(one[1].accepted) > 0)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-11)  # rounding times the condition of A


def decisions(k: int, walkers: int):
    rng = np.random.default_rng(k)
    T = jnp.asarray(rng.normal(size=(walkers, k, k)) + 2 * np.eye(k))
    jastrow = jnp.asarray(0.3 * rng.normal(size=(walkers, k)))
    pairs = 0.1 * rng.normal(size=(walkers, k, k)) * (1 - np.eye(k))
    allowed = jnp.asarray(rng.random(k) > 0.1)
    chance = 1.5 * rng.random((walkers, k))  # steps that are not alike scale them above 1
    return T, jastrow, jnp.asarray(pairs), allowed, jnp.asarray(chance)


def test_elimination_inverts_the_accepted_rows():
    """Q is the inverse of what the block's rows end up as: Φ M_·B where accepted, else unit."""
    T, *rest = decisions(6, 4)
    found = elimination.decide_xla(T, *rest)
    accepted = np.asarray(found.accepted)
    assert 0 < accepted.sum() < accepted.size
    for walker in range(4):
        rows = np.where(accepted[walker][:, None], np.asarray(T[walker]), np.eye(6))
        np.testing.assert_allclose(found.Q[walker], np.linalg.inv(rows), atol=1e-11)
        sign, log = np.linalg.slogdet(rows)
        assert float(found.phase[walker]) == sign
        jastrow, pairs = np.asarray(rest[0][walker]), np.asarray(rest[1][walker])
        change = sum(
            jastrow[p] + pairs[p, :p] @ accepted[walker][:p]
            for p in np.flatnonzero(accepted[walker])
        )
        assert float(found.log[walker]) == pytest.approx(log + change, abs=1e-11)


@pytest.mark.gpu
@pytest.mark.parametrize("k", [7, 32, 59])
def test_triton_kernel_equals_xla(k):
    """Block lengths that fill and do not fill the kernel's tile; rounding grows with Q."""
    pytest.importorskip("jax_triton")
    arguments = decisions(k, 5)
    expected = jax.jit(elimination.decide_xla)(*arguments)
    found = jax.jit(elimination.decide_triton)(*arguments)
    np.testing.assert_array_equal(found.accepted, expected.accepted)
    for name in ("probability", "Q", "log", "phase"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-9)


@pytest.mark.parametrize("polarization", [0.0, 24 / 138])
def test_padded_matrices(polarization):
    """From 64 electrons of a spin on, matrices are padded to a multiple of 8."""
    n = 162 if polarization == 0 else 138
    gas = ElectronGas(n, 1.0, polarization=polarization, allow_open_shell=True)
    psi = SlaterJastrow(gas, delay=32)
    assert (psi.slater.size, psi.slater.delay) == (88, 32)
    walkers = begin(psi, gas.start(KEY, 1))
    moved, tally = eqx.filter_jit(sweep.sweep)(psi, GaussianSteps(jnp.asarray(0.5)), walkers, KEY)
    fresh = begin(psi, moved.r)
    assert float(tally.accepted[0]) > 20
    scale = float(jnp.max(jnp.abs(fresh.slater)))
    np.testing.assert_allclose(moved.slater, fresh.slater, atol=1e-9 * scale)
    np.testing.assert_allclose(moved.log, fresh.log, atol=1e-9)
