"""What a system with a known solution is, and the shortest way to run a propagator on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.hamiltonian import Hamiltonian
from zitter.propagators.base import Propagator


@dataclasses.dataclass(frozen=True)
class System:
    """H, the exact ψ(t) on its basis, a time to compare at, and what the basis itself costs."""

    H: Hamiltonian
    exact: Callable[[float], np.ndarray]
    end: float
    basis_error: float  # ‖ψ − exact‖ at `end` that is left when time steps are converged

    @property
    def start(self) -> jax.Array:
        return jnp.asarray(self.exact(0.0), jnp.complex128)

    def error(self, psi: Any, t: float | None = None) -> float:
        """‖ψ − ψ_exact(t)‖, phases included."""
        return float(self.H.basis.norm(psi - self.exact(self.end if t is None else t)))

    def run(self, propagator: Propagator, steps: int) -> jax.Array:
        return propagate(self.H, self.start, propagator, (0.0, self.end), steps)


def propagate(
    H: Hamiltonian, psi: jax.Array, propagator: Propagator, t: tuple[float, float], steps: int
) -> jax.Array:
    """ψ(t[1]) from ψ(t[0]) by equal steps; one compilation serves every number of steps."""
    dt = (t[1] - t[0]) / steps
    H = H.astype(jnp.finfo(psi.dtype).dtype)
    ready = propagator.prepare(H, t, dt)
    return _steps(ready, H, psi, jnp.float64(t[0]), jnp.float64(dt), jnp.int32(steps))


@eqx.filter_jit
def _steps(propagator, H, psi, start, dt, steps):
    def body(n, carry):
        psi, state = carry
        return propagator.step(H, psi, start + n * dt, dt, state)

    carry = (propagator.enter(psi), propagator.init(H, psi, start, dt))
    return propagator.leave(jax.lax.fori_loop(0, steps, body, carry)[0])
