"""The kick e^{−iκ·r} by light along a line, in a plane, or in any direction of space.

    line     K = K_z                                        light along z
    plane    K = Z(φ) D K_z Dᵀ Z(−φ)                         κ = |κ| (cos φ, sin φ, 0)
    space    K = Z(φ−π/2) Dᵀ Z(ϑ) D K_z Dᵀ Z(−ϑ) D Z(π/2−φ)   κ at polar angle ϑ

with Z(φ) = e^{−imφ} and D = d^l(π/2): all but phases are constants, and all directions cost the
same. On channels up to lmax this is the exponential of the truncated κ·r.

Its derivative is exact, too, and does not see the angles, which have no derivative where κ is zero.
A change along κ̂ is that of K_z; a change δ across it turns the axes by ω = κ̂ × δ/|κ|:

    dK = (κ̂·δ) ∂K/∂|κ| − i [(κ̂ × δ)·J, (K − 1)/|κ|]
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.spherical import turns
from zitter.bases.spherical.axis_kick import AxisKick, minus_i
from zitter.linalg.row_blocks import RowBlocks

Rows = Sequence[tuple[int, int]]  # (l, m) of each


class Kick(eqx.Module):
    """e^{−iκ·r} on the rows (l, m) of a state on the eigenvectors of r (planes, (rows, 2, n))."""

    @abc.abstractmethod
    def kicked(self, psi: jax.Array, points: jax.Array, kappa: jax.Array) -> jax.Array: ...


class LineKick(Kick):
    """Light along z."""

    axis: AxisKick

    def __init__(self, rows: Rows, batches: int, dtype: Any):
        self.axis = AxisKick([(l, abs(m)) for l, m in rows], batches, dtype)

    def kicked(self, psi, points, kappa):
        return self.axis.kick(psi, points, kappa[2])


class TurnedKick(Kick):
    """A kick along z in turned axes; its derivative is its own."""

    axis: eqx.AbstractVar[AxisKick]

    def kicked(self, psi, points, kappa):
        return _turned_kick(self, psi, points, kappa)

    @abc.abstractmethod
    def aim(self, kappa: jax.Array) -> tuple[Any, tuple[Any, ...], jax.Array]:
        """|κ|, the angles of κ, and the unit vector with these angles."""

    @abc.abstractmethod
    def into(self, psi: jax.Array, angles: tuple[Any, ...]) -> jax.Array:
        """ψ in axes with z along κ."""

    @abc.abstractmethod
    def back(self, psi: jax.Array, angles: tuple[Any, ...]) -> jax.Array: ...

    @abc.abstractmethod
    def momentum(self, omega: jax.Array, psi: jax.Array) -> jax.Array:
        """ω·J ψ for those ω that turn one direction of light into another."""


@jax.custom_jvp
def _turned_kick(kick: TurnedKick, psi: Any, points: Any, kappa: Any) -> jax.Array:
    length, angles, _ = kick.aim(kappa)
    return kick.back(kick.axis.kick(kick.into(psi, angles), points, length), angles)


@_turned_kick.defjvp
def _derivative(primals, tangents):
    kick, psi, points, kappa = primals
    _, dpsi, _, delta = tangents
    length, angles, unit = kick.aim(kappa)
    omega = jnp.cross(unit, delta)

    def quotient(turned):
        return kick.back(kick.axis.quotient(turned, points, length), angles)

    turned = kick.into(psi, angles)
    along = kick.axis.slope(turned, points, length) * jnp.dot(unit, delta)
    across = kick.momentum(omega, quotient(turned)) - quotient(
        kick.into(kick.momentum(omega, psi), angles)
    )
    change = kick.back(along, angles) + minus_i(across)
    return _turned_kick(*primals), _turned_kick(kick, dpsi, points, kappa) + change


class PlaneKick(TurnedKick):
    """Light in the xy plane. Rows come l by l, those with l + m even before the others."""

    axis: AxisKick
    turn: RowBlocks  # D of each l and parity, to m′ ≥ 0
    m: jax.Array

    def __init__(self, rows: Rows, batches: int, dtype: Any):
        found = list(dict.fromkeys((l, (l + m) % 2) for l, m in rows))
        turn = [turns.half_quarter_turn(l, parity) for l, parity in found]
        self.turn = RowBlocks(turn, batches, dtype)
        labels = [(l, k) for l, parity in found for k in range(parity, l + 1)]
        self.axis = AxisKick(labels, batches, dtype)
        self.m = jnp.asarray([m for _, m in rows], dtype)

    def aim(self, kappa):
        phi = jnp.arctan2(kappa[1], kappa[0])
        unit = jnp.stack([jnp.cos(phi), jnp.sin(phi), jnp.zeros_like(phi)])
        return jnp.hypot(kappa[0], kappa[1]), (phi,), unit

    def into(self, psi, angles):
        return self.turn.times(phased(psi, self.m, -angles[0]), transposed=True)

    def back(self, psi, angles):
        return phased(self.turn.times(psi), self.m, angles[0])

    def momentum(self, omega, psi):
        return omega[2] * self.m[:, None, None] * psi


class SpaceKick(TurnedKick):
    """Light in any direction: turned into a plane first. Rows as in a `PlaneKick`, all of them."""

    plane: PlaneKick
    turn: RowBlocks  # D of each l
    up: jax.Array  # ⟨m + 1| J₊ |m⟩ of each row
    above: np.ndarray  # the row of m + 1, the row itself where there is none
    below: np.ndarray

    def __init__(self, rows: Rows, batches: int, dtype: Any):
        self.plane = PlaneKick(rows, batches, dtype)
        place = {row: i for i, row in enumerate(rows)}
        blocks = []
        for l in dict.fromkeys(l for l, _ in rows):
            order = [l + m for n, m in rows if n == l]
            blocks.append(turns.quarter_turn(l)[np.ix_(order, order)])
        self.turn = RowBlocks(blocks, batches, dtype)
        l, m = np.asarray(rows).T
        self.up = jnp.asarray(turns.momentum_up(l, m), dtype)
        self.above = np.asarray([place.get((l, m + 1), i) for (l, m), i in place.items()])
        self.below = np.asarray([place.get((l, m - 1), i) for (l, m), i in place.items()])

    @property
    def axis(self) -> AxisKick:  # type: ignore[override]
        return self.plane.axis

    def aim(self, kappa):
        across = jnp.hypot(kappa[0], kappa[1])
        phi, theta = jnp.arctan2(kappa[1], kappa[0]), jnp.arctan2(across, kappa[2])
        sine = jnp.sin(theta)
        unit = jnp.stack([sine * jnp.cos(phi), sine * jnp.sin(phi), jnp.cos(theta)])
        return jnp.hypot(across, kappa[2]), (phi - 0.5 * math.pi, theta), unit

    def into(self, psi, angles):
        phi, theta = angles
        return self.plane.into(self.turn.times(phased(psi, self.plane.m, -phi)), (theta,))

    def back(self, psi, angles):
        phi, theta = angles
        psi = self.turn.times(self.plane.back(psi, (theta,)), transposed=True)
        return phased(psi, self.plane.m, phi)

    def momentum(self, omega, psi):
        """J₊ = J_x + iJ_y and J₋ = J₊ᵀ are real."""
        up = self.up[:, None, None]
        raised = (up * psi)[self.below] * (self.below != np.arange(len(self.below)))[:, None, None]
        lowered = up * psi[self.above]
        x, y = 0.5 * (raised + lowered), 0.5 * minus_i(raised - lowered)
        return omega[0] * x + omega[1] * y + self.plane.momentum(omega, psi)


def phased(psi: jax.Array, m: jax.Array, phi: Any) -> jax.Array:
    """Z(φ)ψ = e^{−imφ}ψ."""
    turn = (m * phi)[:, None]
    cosine, sine = jnp.cos(turn), jnp.sin(turn)
    real, imaginary = psi[:, 0], psi[:, 1]
    return jnp.stack([cosine * real + sine * imaginary, cosine * imaginary - sine * real], axis=1)
