"""What the walls of a grid do to energies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from zitter.linalg.base import Operator, total
from zitter.linalg.sums import answers, diagonal_of

if TYPE_CHECKING:
    from zitter.bases.grid.basis import Grid

LEAST_HEIGHT = 1e-3  # hartree of V − E: where a state is not bound, it decays slowly at best


def box_errors(
    grid: Grid, operator: Operator, energies: Any, states: Any
) -> tuple[np.ndarray, np.ndarray] | None:
    """(energy shifts by the walls, densities there), or None.

    A wall pushes with the pressure (∂ₙψ)²/2m (Hellmann–Feynman); beyond it ψ would have fallen as
    e^{−κx}, κ = √(2m(V − E)), so that E(box) − E(∞) = ∮ (∂ₙψ)²/(4mκ) dS. None where H has no
    potential (there the walls are the physics), or absorbs before them.
    """
    masses = answers(operator, lambda part: part.inverse_masses(grid.spacing))
    potential = diagonal_of(operator)
    walls = grid.boundary == "zero" and operator.hermitian
    if not walls or not masses or float(jnp.ptp(potential)) == 0:
        return None
    inverse_mass = total(masses)
    shifts, densities = np.zeros(len(energies)), np.zeros(len(energies))
    for j, energy in enumerate(np.asarray(energies)):
        for axis, h in enumerate(grid.spacing):
            area = grid.volume / h
            for side in (0, -1):
                edge = np.abs(_face(states[j], axis, side)) ** 2
                height = np.maximum(_face(potential, axis, side) - energy, LEAST_HEIGHT)
                kappa = np.sqrt(2 * height / inverse_mass[axis])
                shifts[j] += np.sum(edge / h**2 * inverse_mass[axis] / (4 * kappa)) * area
                densities[j] = max(densities[j], float(edge.max()))
    return shifts, densities


def image_errors(grid: Grid, operator: Operator, energies: Any, states: Any) -> np.ndarray | None:
    """About what a single system's energies owe to its images in a periodic box, or None.

    Tails e^{−κx} that meet at the boundary as a cosh or a sinh shift a level by half of

        ∮ (κ|ψ|² + |∂ₙψ|²/κ)/m dS

    there, down or up.
    """
    if not (grid.periodic and operator.hermitian):
        return None
    masses = answers(operator, lambda part: part.inverse_masses(grid.spacing))
    potential = diagonal_of(operator)
    if not masses or float(jnp.ptp(potential)) == 0:
        return None
    inverse_mass, shifts = total(masses), np.zeros(len(energies))
    for j, energy in enumerate(np.asarray(energies)):
        for axis, h in enumerate(grid.spacing):
            first, last = (_face(states[j], axis, side) for side in (0, -1))
            barrier = 0.5 * sum(_face(potential, axis, side) for side in (0, -1))
            kappa = np.sqrt(2 * np.maximum(barrier - energy, LEAST_HEIGHT) / inverse_mass[axis])
            squares = (
                kappa * np.abs(0.5 * (first + last)) ** 2 + np.abs((first - last) / h) ** 2 / kappa
            )
            shifts[j] += float(np.sum(squares)) * inverse_mass[axis] * grid.volume / h
    return shifts


def _face(values: Any, axis: int, side: int) -> np.ndarray:
    """The outermost points on one side of the grid."""
    return np.asarray(values[(slice(None),) * axis + (side,)])
