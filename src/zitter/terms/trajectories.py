"""How centres move: classical paths R_j(t), given from outside.

A trajectory displaces the centres of a potential: `positions(t, centers)` → array (centres, axes).
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.interpolate import CubicSpline

from zitter import checks


class Trajectory(eqx.Module):
    """A rule R_j(t) for all centres of one potential."""

    @abc.abstractmethod
    def positions(self, t: Any, centers: np.ndarray) -> jax.Array: ...


class Rigid(Trajectory):
    """All centres swing together along one axis: R_j(t) = R_j + α sin(βt) e_axis."""

    amplitude: Any
    frequency: Any
    axis: int = eqx.field(static=True)

    def __init__(self, amplitude: float | str, frequency: float | str, axis: int = -1):
        self.amplitude = checks.scalar("amplitude", amplitude, "length")
        self.frequency = checks.scalar("frequency", frequency, "energy")
        self.axis = checks.integer("axis", axis, -3, 2)

    def positions(self, t, centers):
        if not -centers.shape[1] <= self.axis < centers.shape[1]:
            raise checks.InputError(
                "axis", f"must be one of the {centers.shape[1]} axes here, but is {self.axis}"
            )
        direction = np.eye(centers.shape[1])[self.axis]
        return centers + direction * (self.amplitude * jnp.sin(self.frequency * t))


class Breathing(Trajectory):
    """The centres vibrate against each other: R_j(t) = R_j + û_j α sin(βt).

    û_j points from the centroid to R_j, so that two ions at ±d/2 stand at ±(d/2 + α sin βt).
    """

    amplitude: Any
    frequency: Any

    def __init__(self, amplitude: float | str, frequency: float | str):
        self.amplitude = checks.scalar("amplitude", amplitude, "length")
        self.frequency = checks.scalar("frequency", frequency, "energy")

    def positions(self, t, centers):
        arms = jnp.asarray(centers) - jnp.mean(jnp.asarray(centers), axis=0)
        lengths = jnp.sqrt(jnp.sum(arms**2, axis=1, keepdims=True))
        directions = arms / jnp.where(lengths > 0, lengths, 1.0)
        return centers + directions * (self.amplitude * jnp.sin(self.frequency * t))


class ConstantVelocity(Trajectory):
    """Straight lines: R_j(t) = R_j + v t, one velocity for all or one for each centre."""

    velocity: Any

    def __init__(self, velocity: float | Sequence[Any]):
        self.velocity = checks.array("velocity", velocity)

    def positions(self, t, centers):
        velocity = jnp.asarray(self.velocity)
        if centers.shape[1] == 1 and velocity.ndim < 2:
            velocity = velocity.reshape(-1, 1)  # on a line, one number for all or for each centre
        count, axes = centers.shape
        if velocity.shape not in ((axes,), (1, axes), (count, axes)):
            raise checks.InputError(
                "velocity",
                f"must be {axes} number(s), or as many for each of {count} centre(s), "
                f"but has shape {np.shape(self.velocity)}",
            )
        return centers + velocity * t


class TabulatedPath(Trajectory):
    """Positions at given times, joined by a cubic spline (held constant outside the table)."""

    knots: np.ndarray
    coefficients: np.ndarray  # (4, intervals, centres·axes)
    shape: tuple[int, int] = eqx.field(static=True)

    def __init__(self, times: Sequence[float], positions: Any):
        times = checks.array("times", times, (None,))
        positions = checks.array("positions", positions)
        if positions.ndim == 1:
            positions = positions[:, None, None]
        elif positions.ndim == 2:
            positions = positions[:, :, None]
        if len(times) < 2 or len(times) != len(positions) or np.any(np.diff(times) <= 0):
            raise checks.InputError(
                "times", "must be at least two increasing times, one for each row of positions"
            )
        spline = CubicSpline(times, positions.reshape(len(times), -1))
        self.knots = np.asarray(spline.x)
        self.coefficients = np.asarray(spline.c)
        self.shape = positions.shape[1:]

    def positions(self, t, centers):
        if self.shape != centers.shape:
            raise checks.InputError(
                "positions",
                f"must hold {centers.shape[0]} centre(s) with {centers.shape[1]} coordinate(s), "
                f"but holds {self.shape[0]} with {self.shape[1]}",
            )
        knots, c = jnp.asarray(self.knots), jnp.asarray(self.coefficients)
        t = jnp.clip(t, knots[0], knots[-1])
        i = jnp.clip(jnp.searchsorted(knots, t, side="right") - 1, 0, len(self.knots) - 2)
        s = t - knots[i]
        value = ((c[0, i] * s + c[1, i]) * s + c[2, i]) * s + c[3, i]
        return value.reshape(self.shape)


class Path(Trajectory):
    """Any JAX function: R(t) = function(t), an array of all centres' positions."""

    function: Callable[[Any], Any] = eqx.field(static=True)

    def __init__(self, function: Callable[[Any], Any]):
        if not callable(function):
            raise checks.InputError("function", f"must be a function of t, but is {function!r}")
        self.function = function

    def positions(self, t, centers):
        return jnp.reshape(self.function(t), centers.shape)
