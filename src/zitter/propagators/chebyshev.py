"""exp(−iτO)ψ as a Chebyshev series (Tal-Ezer & Kosloff, J. Chem. Phys. 81, 3967 (1984)).

    exp(−iτO) = e^{−iτc} Σ_n (2 − δ_{n0}) (−i)ⁿ J_n(τr) T_n((O − c)/r)

c and r are centre and half-width of an interval that encloses the spectrum.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import jv

from zitter import checks
from zitter.linalg.base import real_like
from zitter.propagators.base import (
    Exponential,
    minus_i,
    require_hermitian,
    require_orthonormal,
    scheme_or_default,
    spectral_bounds,
)
from zitter.propagators.schemes import Midpoint, TimeScheme


class Chebyshev(Exponential):
    """The near-optimal polynomial for a Hermitian H with known bounds; `tol` per step.

    The number of terms grows as rΔt, so large steps are cheap when H does not depend on time.
    """

    tol: float = eqx.field(static=True)
    scheme: TimeScheme
    center: Any
    radius: Any
    coefficients: Any

    def __init__(self, tol: float = 1e-12, scheme: TimeScheme = Midpoint()):
        self.tol = float(checks.positive("tol", tol))
        self.scheme = scheme_or_default(scheme)
        self.center = self.radius = self.coefficients = None

    def prepare(self, H, t, dt):
        remedy = "use SplitOperator, Taylor or Lanczos, or a MaskAbsorber"
        require_hermitian("Chebyshev", H, remedy)
        require_orthonormal("Chebyshev", H)
        low, high = spectral_bounds(H, t)
        if checks.is_traced(low):
            raise checks.InputError(
                "propagator",
                "must not need the bounds of a traced Hamiltonian, but Chebyshev does: "
                "use Taylor, Lanczos or SplitOperator inside jax.grad",
            )
        # A stage acts on Σ w_n H(t_n): its centre scales with Σ w_n, its half-width with Σ |w_n|.
        weights = self.scheme.stages[0][0] if H.time_dependent else (1.0,)
        center = 0.5 * float(low + high) * sum(weights)
        radius = 0.5 * float(high - low) * sum(map(abs, weights)) * (1 + 1e-9) + 1e-9
        return eqx.tree_at(
            lambda p: (p.center, p.radius, p.coefficients),
            self,
            (np.float64(center), np.float64(radius), series(radius * abs(dt), self.tol)),
            is_leaf=lambda x: x is None,
        )

    def long_step(self, H):
        return True

    def exponential(self, operator, psi, tau, state):
        center, radius = real_like(self.center, psi), real_like(self.radius, psi)
        # (−i)ⁿ = 1, −i, −1, i, …; a backward step conjugates the series.
        quarter = np.arange(len(self.coefficients)) % 4
        even, odd = np.array([1, 0, -1, 0])[quarter], np.array([0, 1, 0, -1])[quarter]
        turns = even + minus_i(jnp.sign(tau), psi) * odd
        weights = (2 * real_like(self.coefficients, psi) * turns).astype(psi.dtype)

        def scaled(phi):
            return (operator.apply(phi) - center * phi) / radius

        def body(carry, weight):
            previous, current, total = carry
            following = 2 * scaled(current) - previous
            return (current, following, total + weight * following), None

        first = scaled(psi)
        start = (psi, first, 0.5 * weights[0] * psi + weights[1] * first)
        (_, _, total), _ = jax.lax.scan(body, start, weights[2:])
        return jnp.exp(minus_i(tau, psi) * center) * total, state

    def report(self, state):
        return {"order": len(self.coefficients) - 1, "tolerance_per_step": self.tol}


def series(x: float, tol: float) -> np.ndarray:
    """J_0(x) … J_n(x) with the neglected tail below `tol`."""
    n = int(x + 20 + 10 * x ** (1 / 3))
    values = jv(np.arange(n + 1), x)
    tail = 2 * np.cumsum(np.abs(values[::-1]))[::-1]
    keep = int(np.argmax(tail <= tol)) if np.any(tail <= tol) else n
    return values[: max(keep, 2)]
