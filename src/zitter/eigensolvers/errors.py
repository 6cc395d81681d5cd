"""How wrong an energy may be: what the solver left over, and what the box does."""

from __future__ import annotations

import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np

from zitter.bases.grid.basis import Grid
from zitter.bases.spherical.basis import SphericalBasis
from zitter.eigensolvers.radial_box import radial_box_errors
from zitter.eigensolvers.separable import has_kinetic_part, potential_of
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.spectral import Spectral
from zitter.linalg.stencil import Stencil
from zitter.linalg.sums import Sum

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


def box_errors(H: Hamiltonian, energies: Any, states: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """(energy shifts by the walls of a grid or at rmax, densities there), or None.

    A wall pushes with the pressure (∂ₙψ)²/2m (Hellmann–Feynman); beyond it ψ would have fallen as
    e^{−κx}, κ = √(2m(V − E)), so that E(box) − E(∞) = ∮ (∂ₙψ)²/(4mκ) dS. None where H has no
    potential: there the walls are the physics.
    """
    grid = H.basis
    if isinstance(grid, SphericalBasis):
        return radial_box_errors(H, energies, states)
    if not isinstance(grid, Grid) or grid.boundary != "zero" or not has_kinetic_part(H):
        return None
    potential = potential_of(H)
    if float(jnp.ptp(potential)) == 0:
        return None
    inverse_mass = _inverse_masses(H, grid)
    shifts, densities = np.zeros(len(energies)), np.zeros(len(energies))
    for j, energy in enumerate(np.asarray(energies)):
        for axis, h in enumerate(grid.spacing):
            area = grid.volume / h
            for side in (0, -1):
                edge = np.abs(_face(states[j], axis, side)) ** 2
                height = np.maximum(_face(potential, axis, side) - energy, 1e-3)
                kappa = np.sqrt(2 * height / inverse_mass[axis])
                shifts[j] += np.sum(edge / h**2 * inverse_mass[axis] / (4 * kappa)) * area
                densities[j] = max(densities[j], float(edge.max()))
    return shifts, densities


def _face(values: Any, axis: int, side: int) -> np.ndarray:
    """The outermost points on one side of the grid."""
    return np.asarray(values[(slice(None),) * axis + (side,)])


def warn_of_small_box(shifts: np.ndarray, densities: np.ndarray) -> None:
    worst = int(np.argmax(shifts))
    if shifts[worst] > WORTH_A_WARNING:
        warnings.warn(
            f"the box is too small for state {worst}: its density at the boundary is "
            f"{densities[worst]:.1e}, and its energy is about {shifts[worst]:.1e} "
            "too high; take a larger box: more points, a larger spacing or a larger rmax",
            BoxWarning,
            stacklevel=3,
        )


def _inverse_masses(H: Hamiltonian, grid: Grid) -> np.ndarray:
    """1/m along each axis: twice the coefficient of k² in the kinetic energy at long waves."""
    operator = H.operator
    total = np.zeros(grid.ndim)
    for part in operator.parts if isinstance(operator, Sum) else (operator,):
        match part:
            case Spectral():
                for axis, symbol in enumerate(part.symbols):
                    k = part.transform.wave_numbers(grid.shape[axis], grid.spacing[axis])[1]
                    total[axis] += 2 * float(jnp.real(symbol[1])) / k**2
            case Stencil():
                offsets = np.arange(-part.half_width, part.half_width + 1)
                rows = np.real(np.asarray(part.coefficients))
                total -= rows @ offsets**2 * np.asarray(grid.spacing) ** 2
    return total
