"""Explicit Runge–Kutta methods for dψ/dt = −iH(t)ψ."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import real_like
from zitter.propagators.base import (
    ErrorSum,
    Propagator,
    check_stability,
    require_orthonormal,
    spectral_radius,
)
from zitter.propagators.taylor import growth


def slope(H: Hamiltonian, psi: jax.Array, t: Any) -> jax.Array:
    """dψ/dt = −iH(t)ψ."""
    return -1j * H.mix([1.0], [t]).apply(psi)


class RungeKutta4(Propagator):
    """The classical method of order 4: k₁ … k₄ at t, t + Δt/2 (twice), t + Δt."""

    @property
    def stages(self) -> int:
        return 4

    def convergence_order(self, H: Hamiltonian) -> int:
        return 4

    @property
    def nodes(self) -> tuple[float, ...]:
        return (0.0, 0.5, 1.0)

    def prepare(self, H, t, dt):
        require_orthonormal("RungeKutta4", H)
        check_stability("RungeKutta4", partial(growth, 4), spectral_radius(H, t), t, dt)
        return self

    def step(self, H, psi, t, dt, state):
        h = real_like(dt, psi)
        k1 = slope(H, psi, t)
        k2 = slope(H, psi + 0.5 * h * k1, t + 0.5 * dt)
        k3 = slope(H, psi + 0.5 * h * k2, t + 0.5 * dt)
        k4 = slope(H, psi + h * k3, t + dt)
        return psi + (h / 6) * (k1 + 2 * k2 + 2 * k3 + k4), state


# Fehlberg, NASA TR R-315 (1969): nodes, coupling, 4th- and 5th-order weights.
_NODES = (0.0, 1 / 4, 3 / 8, 12 / 13, 1.0, 1 / 2)
_COUPLING = (
    (),
    (1 / 4,),
    (3 / 32, 9 / 32),
    (1932 / 2197, -7200 / 2197, 7296 / 2197),
    (439 / 216, -8.0, 3680 / 513, -845 / 4104),
    (-8 / 27, 2.0, -3544 / 2565, 1859 / 4104, -11 / 40),
)
_FOURTH = (25 / 216, 0.0, 1408 / 2565, 2197 / 4104, -1 / 5, 0.0)
_FIFTH = (16 / 135, 0.0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55)


class RungeKuttaFehlberg45(Propagator):
    """Fehlberg's embedded pair: the 5th-order result is kept, its distance to the 4th-order one
    estimates the error.

    With `tol` each step is cut into substeps whose estimated error per unit time stays below
    `tol`; without it the step is taken as given.
    """

    tol: float | None = eqx.field(static=True)

    def __init__(self, tol: float | None = None):
        self.tol = None if tol is None else float(checks.positive("tol", tol))

    @property
    def stages(self) -> int:
        return len(_NODES)

    def convergence_order(self, H: Hamiltonian) -> int:
        return 5 if self.tol is None else 1

    @property
    def nodes(self) -> tuple[float, ...]:
        return _NODES if self.tol is None else ()

    def prepare(self, H, t, dt):
        require_orthonormal("RungeKuttaFehlberg45", H)
        if self.tol is None:
            radius = spectral_radius(H, t)
            check_stability("RungeKuttaFehlberg45", fehlberg_growth, radius, t, dt)
        return self

    def init(self, H, psi, t, dt):
        return ErrorSum.zero(), jnp.asarray(dt, jnp.float64), jnp.zeros((), jnp.int32)

    def step(self, H, psi, t, dt, state):
        if self.tol is None:
            errors, h, count = state
            psi, error = fehlberg_pair(H, psi, t, dt)
            return psi, (errors.plus(error), h, count + 1)
        return self._adaptive(H, psi, t, dt, state, self.tol)

    def _adaptive(self, H, psi, t, dt, state, tol: float):
        """Substeps until t + Δt; a substep is repeated with a smaller h when its error is high.

        The loop's length is not known beforehand: forward derivatives only.
        """
        direction = jnp.sign(jnp.asarray(dt, jnp.float64))
        span = jnp.abs(jnp.asarray(dt, jnp.float64))

        def unfinished(carry):
            return carry[1] < span * (1 - 1e-12)

        def substep(carry):
            psi, done, errors, h, count = carry
            h = jnp.abs(h)
            trial = jnp.minimum(h, span - done)
            new, error = fehlberg_pair(H, psi, t + direction * done, direction * trial)
            # Errors below rounding cannot be told apart; one that is no number ends the run.
            allowed = jnp.maximum(tol * trial, 2 * jnp.finfo(psi.dtype).eps)
            accept = (error <= allowed) | ~jnp.isfinite(error)
            growth = 0.9 * (allowed / jnp.maximum(error, 1e-300)) ** 0.25
            # A substep cut short by the end of the step says nothing against the longer h.
            proposed = trial * jnp.clip(growth, 0.2, 4.0)
            h = jnp.where(accept & (trial < h), jnp.maximum(h, proposed), proposed)
            return (
                jnp.where(accept, new, psi),
                jnp.where(accept, done + trial, done),
                errors.plus(jnp.where(accept, error, 0.0)),
                h,
                count + 1,
            )

        errors, h, count = state
        start = (psi, jnp.zeros((), jnp.float64), errors, h, count)
        psi, _, errors, h, count = jax.lax.while_loop(unfinished, substep, start)
        return psi, (errors, h, count)

    def report(self, state):
        return {"error_estimate": state[0].total, "substeps": state[2]}


def fehlberg_pair(H: Hamiltonian, psi: jax.Array, t: Any, dt: Any) -> tuple[jax.Array, jax.Array]:
    """The 5th-order step and the norm (relative to ψ) of its difference to the 4th-order one."""
    h = real_like(dt, psi)
    slopes: list[jax.Array] = []
    for node, row in zip(_NODES, _COUPLING, strict=True):
        stage = psi
        for a, k in zip(row, slopes, strict=True):
            stage = stage + (h * a) * k
        slopes.append(slope(H, stage, t + node * dt))
    new = psi + h * sum(b * k for b, k in zip(_FIFTH, slopes, strict=True) if b)
    pairs = zip(_FIFTH, _FOURTH, slopes, strict=True)
    gap = h * sum((b5 - b4) * k for b5, b4, k in pairs if b5 != b4)
    error = jnp.linalg.norm(gap.ravel()) / jnp.linalg.norm(psi.ravel())
    return new, error.astype(jnp.float64)


def fehlberg_growth(x: float) -> float:
    """Amplification by the fifth-order weights of a wave with ωΔt = x."""
    slopes: list[complex] = []
    for row in _COUPLING:
        slopes.append(-1j * (1 + x * sum(a * k for a, k in zip(row, slopes, strict=True))))
    return abs(1 + x * sum(b * k for b, k in zip(_FIFTH, slopes, strict=True)))
