"""How wrong an energy may be: what the solver left over, and what to say of the box."""

from __future__ import annotations

import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np

from zitter.hamiltonian import Hamiltonian
from zitter.keywords import caller

WORTH_A_WARNING = 1e-4  # hartree of box error


class BoxWarning(UserWarning):
    """The box is too small for a state."""


def algebraic_errors(
    H: Hamiltonian, energies: Any, residuals: Any, next_energies: Any = ()
) -> np.ndarray:
    """Bounds on |E − λ|, λ an eigenvalue of the discrete H: r, or Kato and Temple's r²/gap.

    Levels closer together than ten residuals count as one, and the gap is the distance to the
    next one; where no state above is known, r stands. Rounding adds eps ‖H‖.
    """
    energies, residuals = np.asarray(energies, float), np.asarray(residuals, float)
    known = np.concatenate([energies, np.asarray(next_energies, float)])
    bounds = residuals.copy()
    for i, (energy, residual) in enumerate(zip(energies, residuals, strict=True)):
        distances = np.abs(known - energy)
        apart = distances[distances > 10 * residual + 1e-12]
        if np.any(known > energy + 10 * residual + 1e-12) and residual < apart.min():
            bounds[i] = min(residual, residual**2 / apart.min())
    return bounds + float(jnp.finfo(H.operator.dtype).eps) * _largest(H)


def _largest(H: Hamiltonian) -> float:
    low, high = H.operator.bounds()
    return max(abs(float(low)), abs(float(high)))


def warn_of_small_box(shifts: np.ndarray, densities: np.ndarray) -> None:
    worst = int(np.argmax(shifts))
    if shifts[worst] > WORTH_A_WARNING:
        warnings.warn(
            f"the box is too small for state {worst}: its density at the boundary is "
            f"{densities[worst]:.1e}, and its energy is about {shifts[worst]:.1e} "
            "too high; take a larger box: more points, a larger spacing or a larger rmax",
            BoxWarning,
            stacklevel=caller(),
        )
