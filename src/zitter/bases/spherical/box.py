"""What the wall at rmax does to the energies of radial functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from zitter.bases.bsplines import RadialBSplines
from zitter.linalg.base import Operator
from zitter.linalg.blocks import RadialBlocks

if TYPE_CHECKING:
    from zitter.bases.spherical.basis import SphericalBasis

POWERS = 4  # of r − rmax in the potential near the wall
MARGIN = 1.05  # the formula is of first order in the shift: it was off by 2 % at most, or too high
LEAST_HEIGHT = 1e-3  # hartree of V − E: where a state is not bound, it decays slowly at best


def box_errors(
    basis: SphericalBasis, operator: Operator, energies: Any, states: Any
) -> tuple[np.ndarray, np.ndarray] | None:
    """(energy shifts by the wall at rmax, radial densities |P|² in the last interval), or None.

    The wall pushes with P′²/2m, and beyond it P would have fallen as e^{−κr}, κ = √(2m(V − E)), so
    that E(box) − E(∞) = P′²/(4mκ). None where no wall or nothing but the wall binds.
    """
    if not isinstance(operator, RadialBlocks) or not operator.hermitian:
        return None
    radial, bands = basis.radial, np.asarray(operator.bands)
    if radial.outer != "zero" or radial.scaling is not None:
        return None
    states, near = np.asarray(states), _NearWall(radial)
    slopes = np.einsum("i,nci->nc", radial.evaluate(radial.rmax, 1)[0], states)
    shifts = np.zeros(len(energies))
    for channel in np.nonzero(np.any(states != 0, axis=(0, 2)))[0]:
        inverse_mass, height, free = near.fit(bands[channel], int(basis.l[channel]))
        if free:
            return None
        kappa = np.sqrt(2 * np.maximum(height - np.asarray(energies), LEAST_HEIGHT) / inverse_mass)
        shifts += np.abs(slopes[:, channel]) ** 2 * inverse_mass / (4 * kappa) * MARGIN
    values = np.einsum("qi,nci->ncq", radial.evaluate(radial.points[-1]), states)
    return shifts, np.max(np.sum(np.abs(values) ** 2, axis=1), axis=1)


class _NearWall:
    """What H is near rmax, read from its matrix elements among the last splines."""

    def __init__(self, radial: RadialBSplines):
        self.rmax, self.last = radial.rmax, np.s_[:, -radial.degree - 1 :]
        # Of few splines the last ones reach to the nucleus, where powers of r − rmax do not fit.
        self.reaches_nucleus = radial.n <= 2 * radial.degree
        with jax.ensure_compile_time_eval():
            self.radial_part = 0.5 * np.asarray(radial.matrix(1.0, 1, 1))
            self.centrifugal = np.asarray(radial.matrix(lambda r: 0.5 / r**2))
            powers = [
                radial.matrix(lambda r, k=k: (r / radial.rmax - 1) ** k) for k in range(POWERS)
            ]
            if self.reaches_nucleus:
                powers.append(radial.matrix(lambda r: radial.rmax / r))
        self.potential = [np.asarray(power)[self.last].ravel() for power in powers]

    def fit(self, bands: np.ndarray, l: int) -> tuple[float, float, bool]:
        """(1/m, V + l(l+1)/2mr² at rmax, no V anywhere) of H = T_l/m + Σ_k v_k (r/rmax − 1)^k, with
        a pole at the origin where that is near."""
        kinetic = self.radial_part + l * (l + 1) * self.centrifugal
        columns = np.column_stack([kinetic[self.last].ravel(), *self.potential])
        scale = np.linalg.norm(columns, axis=0)
        found = np.linalg.lstsq(columns / scale, bands[self.last].ravel())[0] / scale
        if found[0] <= 0:  # V is too steep for this fit: 1/m where T is largest, and no barrier
            steepest = np.unravel_index(np.argmax(np.abs(kinetic)), kinetic.shape)
            return float(abs(bands[steepest] / kinetic[steepest])), -np.inf, False
        pole = found[1 + POWERS] if self.reaches_nucleus else 0.0
        height = found[1] + pole + found[0] * l * (l + 1) / (2 * self.rmax**2)
        rest = np.max(np.abs(bands - found[0] * kinetic))
        return float(found[0]), float(height), bool(rest < 1e-8 * np.max(np.abs(bands)))
