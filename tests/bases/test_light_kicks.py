"""Kicks by light on B-splines times harmonics, against exponentials of dense matrices."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import zitter as zt
from marks import slow
from zitter.bases.spherical import turns
from zitter.bases.spherical.split import angular_split
from zitter.linalg.cos_sin import cos_sin

RADIAL = zt.RadialBSplines(7, 4, 3.0)
ALL = zt.SphericalBasis(RADIAL, 4, m="all")
X, Y, Z = np.eye(3)
TILTED = np.array([2.0, -1.0, 2.0]) / 3

# name: basis, directions of light, impulses along them
LIGHT = {
    "z": (zt.SphericalBasis(RADIAL, 5), [Z], [0.4]),
    "z, m = −1": (zt.SphericalBasis(RADIAL, 4, m=-1), [Z], [-0.4]),
    "z, all m": (ALL, [Z], [0.4]),
    "x": (ALL, [X], [0.4]),
    "one direction": (ALL, [TILTED], [0.4]),
    "xy plane": (ALL, [X, Y], [0.3, -0.2]),
    "zx plane": (ALL, [Z, X], [0.3, -0.2]),
    "a plane": (ALL, [TILTED, np.cross(TILTED, Z)], [0.3, -0.2]),
    "space": (ALL, [X, Y, Z], [0.3, -0.2, 0.25]),
    "one l": (zt.SphericalBasis(RADIAL, 0), [Z], [0.4]),
}
FEW = ("z", "zx plane", "space", "one l")


def made(basis, directions, batches=3):
    atom = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)]), basis).fixed
    lights = [basis.position(unit) for unit in directions]
    return angular_split(basis, atom, lights, batches=batches).ready(), lights


def orthonormal(split, lights, angles):
    """Σ θ O on the eigenvectors of r."""
    C = np.asarray(split.backward)
    total = sum(a * np.asarray(light.as_matrix()) for a, light in zip(angles, lights, strict=True))
    n = len(C)
    blocks = total.reshape(-1, n, total.shape[0] // n, n)
    turned = np.einsum("ji,ajbk,kl->aibl", C, blocks, C, optimize=True)
    return turned.reshape(total.shape)


def kicked(split, psi, angles):
    """A kick, on complex coefficients of the eigenvectors of r."""
    planes = jnp.stack([psi.real, psi.imag], axis=1)
    rows = split.frame.leave(split.kick(split.frame.enter(planes), jnp.asarray(angles)))
    return rows[:, 0] + 1j * rows[:, 1]


def some_state(basis):
    rng = np.random.default_rng(5)
    psi = rng.normal(size=basis.shape) + 1j * rng.normal(size=basis.shape)
    return jnp.asarray(psi / np.linalg.norm(psi))


@pytest.mark.parametrize("batches", [slow(1), 3])
@pytest.mark.parametrize("name", [n if n in FEW else slow(n) for n in LIGHT])
def test_the_kick_is_the_exponential_of_the_truncated_light(name, batches):
    basis, directions, angles = LIGHT[name]
    split, lights = made(basis, directions, batches)
    psi = some_state(basis)
    exact = scipy.linalg.expm(-1j * orthonormal(split, lights, angles)) @ np.ravel(psi)
    np.testing.assert_allclose(np.ravel(kicked(split, psi, angles)), exact, atol=1e-13)
    np.testing.assert_allclose(split.leave(split.enter(psi)), psi, atol=1e-13)


@pytest.mark.parametrize("angles", [(0.3, -0.2, 0.25), (1e-9, 0.0, 2e-9), (0.0, 0.0, 0.0)])
@pytest.mark.parametrize("name", [slow("z, all m"), slow("xy plane"), slow("a plane"), "space"])
def test_the_derivative_of_a_kick_is_exact_and_finite_without_light(name, angles):
    basis, directions, _ = LIGHT[name]
    split, lights = made(basis, directions)
    psi, angles = some_state(basis), np.asarray(angles[: len(lights)])
    rates = np.array([0.7, -0.4, 0.9])[: len(lights)]
    _, slope = jax.jvp(functools.partial(kicked, split, psi), (angles,), (rates,))
    generators = [orthonormal(split, lights, values) for values in (angles, rates)]
    change = scipy.linalg.expm_frechet(-1j * generators[0], -1j * generators[1])[1]
    np.testing.assert_allclose(np.ravel(slope), change @ np.ravel(psi), atol=1e-12)
    # Backwards, of a number: the same projected on some vector.
    bra = jnp.roll(psi, 1)
    found = jax.grad(lambda a: jnp.real(jnp.vdot(bra, kicked(split, psi, a))))(jnp.asarray(angles))
    expected = np.real(np.vdot(bra, change @ np.ravel(psi)))
    assert float(found @ rates) == pytest.approx(expected, abs=1e-12)


def test_turns_are_orthogonal_at_high_l():
    turn = turns.quarter_turn(200)
    np.testing.assert_allclose(turn @ turn.T, np.eye(401), atol=1e-13)
    # Two quarter turns about y: z → −z, (−1)^{l+m} between m and −m.
    half = turns.turned(5, np.pi)
    np.testing.assert_allclose(turns.quarter_turn(5) @ turns.quarter_turn(5), half, atol=1e-14)
    signs = (-1.0) ** (5 + np.arange(-5, 6))
    np.testing.assert_allclose(np.abs(half[::-1]), np.eye(11), atol=1e-14)
    np.testing.assert_allclose(np.diag(half[::-1]), signs, atol=1e-14)


def test_cosine_and_sine():
    x = np.concatenate([np.linspace(-20, 20, 4001), 1e4 * np.linspace(-1, 1, 999), [np.pi / 4]])
    cosine, sine = cos_sin(jnp.asarray(x))
    np.testing.assert_allclose(cosine, np.cos(x), atol=3e-16)
    np.testing.assert_allclose(sine, np.sin(x), atol=3e-16)
    slopes = jax.vmap(jax.grad(lambda x: cos_sin(x)[0]))(jnp.asarray(x))
    np.testing.assert_allclose(slopes, -np.sin(x), atol=3e-16)


@pytest.mark.slow
def test_only_channels_that_are_reached_are_stepped():
    psi = np.zeros(ALL.shape, complex)
    psi[ALL.row(0, 0)] = 1.0
    even = jnp.asarray(psi)
    psi[ALL.row(0, 0)], psi[ALL.row(1, 0)] = 0.0, 1.0
    odd = jnp.asarray(psi)
    counts = {
        "xy plane": (15, 10, 25),
        "a plane": (15, 25, 25),  # 2p₀ is along z, which is neither in the plane nor across it
        "one direction": (5, 13, 13),  # m = 0 alone; 2p₀ has m = −1, 0, 1 along the light
        "space": (25, 25, 25),
    }
    for name, expected in counts.items():
        basis, directions, angles = LIGHT[name]
        split, _ = made(basis, directions)
        for state, rows in zip((even, odd, even + odd), expected, strict=True):
            narrow = split.narrowed(state)
            assert len(narrow.frame.rows) == rows, name
            # What is left out is not missed.
            np.testing.assert_allclose(
                narrow.leave(narrow.kick(narrow.enter(state), jnp.asarray(angles))),
                split.leave(split.kick(split.enter(state), jnp.asarray(angles))),
                atol=1e-13,
            )
