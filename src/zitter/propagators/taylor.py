"""exp(−iτO)ψ = Σ_{n≤k} (−iτO)ⁿψ/n!, by k applications of O."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks
from zitter.linalg.base import Operator
from zitter.propagators.base import (
    ErrorSum,
    Exponential,
    check_stability,
    minus_i,
    require_orthonormal,
    scheme_or_default,
    spectral_radius,
)
from zitter.propagators.schemes import Midpoint, TimeScheme


class Taylor(Exponential):
    """The truncated exponential series. With `tol` the order is picked from ‖H‖Δt."""

    order: int | None = eqx.field(static=True)
    tol: float | None = eqx.field(static=True)
    scheme: TimeScheme

    def __init__(
        self, order: int | None = 10, tol: float | None = None, scheme: TimeScheme = Midpoint()
    ):
        self.order = None if tol is not None else checks.integer("order", order, 1, 200)
        self.tol = None if tol is None else float(checks.positive("tol", tol))
        self.scheme = scheme_or_default(scheme)

    def prepare(self, H, t, dt):
        require_orthonormal("Taylor", H)
        radius = spectral_radius(H, t)
        if self.order is not None:
            check_stability(f"Taylor({self.order})", partial(growth, self.order), radius, t, dt)
            return self
        if checks.is_traced(radius):
            raise checks.InputError("order", "must be given when the Hamiltonian is being traced")
        assert self.tol is not None  # one of order and tol is given
        return Taylor(order_for(float(radius) * abs(dt), self.tol), scheme=self.scheme)

    def init(self, H, psi, t, dt):
        return ErrorSum.zero()

    def long_step(self, H):
        return True

    def exponential(self, operator, psi, tau, state):
        psi, last = taylor_series(operator, psi, tau, self.order)
        return psi, state.plus(jnp.linalg.norm(last.ravel()) / jnp.linalg.norm(psi.ravel()))

    def report(self, state):
        return {"error_estimate": state.total, "order": self.order}


def taylor_series(
    operator: Operator, psi: jax.Array, tau: Any, order: int | None
) -> tuple[jax.Array, jax.Array]:
    """The sum up to `order`, and its last term (the size of what was left out)."""
    assert order is not None
    factor = minus_i(tau, psi)

    def add_term(n, sums):
        total, term = sums
        term = (factor / n) * operator.apply(term)
        return total + term, term

    # Rolled, not written out: short loop bodies run several times faster on the CPU.
    return jax.lax.fori_loop(1, order + 1, add_term, (psi, psi))


def order_for(norm: float, tol: float) -> int:
    """The smallest k with Σ_{n>k} normⁿ/n! ≤ tol, bounded by the next term's geometric tail."""
    for k in range(1, 201):
        log_term = (k + 1) * math.log(max(norm, 1e-300)) - math.lgamma(k + 2)
        if k + 2 > norm and log_term - math.log1p(-norm / (k + 2)) <= math.log(tol):
            return k
    raise checks.InputError(
        "dt", f"must be small enough that dt·|H| stays below 60, but dt·|H| = {norm:.3g}"
    )


def growth(order: int, x: float) -> float:
    """|Σ_{n≤k}(−ix)ⁿ/n!|, the amplification of a wave with ωΔt = x."""
    total = term = 1.0 + 0j
    for n in range(1, order + 1):
        term *= -1j * x / n
        total += term
    return abs(total)
