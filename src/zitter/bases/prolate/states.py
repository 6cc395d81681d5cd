"""Stationary states of what separates, their names, and what the wall does to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.prolate.coordinates import lagrange
from zitter.bases.prolate.levels import Pair
from zitter.bases.prolate.matrices import dense, stiffness
from zitter.bases.prolate.operators import Separable
from zitter.linalg.base import Operator
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.sums import part_of_kind

if TYPE_CHECKING:
    from zitter.bases.prolate.basis import ProlateSpheroidal

LEAST_HEIGHT = 1e-3  # hartree of V − E: where a state is not bound, it decays slowly at best
LETTERS = ("spdfghiklmnoqrtuv", "σπδφγηικ")


def separated(basis: ProlateSpheroidal, operator: Operator) -> Separable | None:
    """H where it is known, Hermitian and separates, else None."""
    if checks.is_traced(operator) or not operator.hermitian:
        return None
    known, rest = basis.separate(operator)
    return known if isinstance(known, Separable) and rest is None else None


def stationary(
    basis: ProlateSpheroidal, operator: Operator, n: int, near: float | None
) -> tuple[np.ndarray, Any, str] | None:
    """(energies, states, how) where H separates and is Hermitian, else None."""
    known = separated(basis, operator)
    if known is None:
        return None
    weights = basis.separated_volume
    pair = Pair(
        dense(np.asarray(known.xi, float)),
        np.asarray(known.eta, float),
        weights[0].reshape(-1),
        weights[1],
    )
    levels = pair.lowest(n) if near is None else pair.nearest(n, near)
    root = np.sqrt(basis.layout.volume)
    states = np.stack([np.outer(level.x, level.y) * root for level in levels])
    states /= np.linalg.norm(states, axis=(1, 2))[:, None, None]
    energies = np.array([level.energy for level in levels])
    return energies, jnp.asarray(states), "LAPACK, ξ and η separated"


def level_name(basis: ProlateSpheroidal, psi: Any) -> str:
    """1sσg, 2pπu, …: the united atom's name, n_η = l − |m| and n_ξ = n − l − 1; with g or u where
    ψ has a parity."""
    b = np.asarray(psi) / np.sqrt(basis.layout.volume)
    left, size, right = np.linalg.svd(b)
    if size[1] > 0.1 * size[0]:
        raise checks.InputError("psi", "must be a product of functions of ξ and η, but is not")
    m = abs(basis.m)
    l = _sign_changes(right[0]) + m
    n = _sign_changes(left[:, 0]) + l + 1
    y = np.abs(right[0])
    parity = "gu"[l % 2] if np.allclose(y, y[::-1], atol=1e-6 * y.max()) else ""
    shells, symmetries = LETTERS
    return f"{n}{shells[l]}{symmetries[m]}{parity}"


def _sign_changes(values: np.ndarray) -> int:
    """Nodes of a function; where it has died away, rounding has signs as well."""
    values = np.real(values * np.exp(-1j * np.angle(values[np.argmax(np.abs(values))])))
    values = values[np.abs(values) > 1e-6 * np.abs(values).max()]
    return int(np.count_nonzero(values[1:] * values[:-1] < 0))


def box_errors(
    basis: ProlateSpheroidal, operator: Operator, energies: Any, states: Any
) -> tuple[np.ndarray, np.ndarray] | None:
    """(energy shifts by the wall, densities |ψ|² before it), None where nothing but the wall binds.

    The wall pushes with (∂ₙψ)²/2m, and beyond it ψ would have fallen as e^{−κr}, κ = √(2m(V − E)),
    so that E(box) − E(∞) = ∮ (∂ₙψ)²/(4mκ) dS; ∂ₙ = ∂_ξ/h with h = a √((ξ²−η²)/(ξ²−1)).
    """
    kinetic, potential = part_of_kind(operator, Separable), part_of_kind(operator, Diagonal)
    if basis.complex_scaled or kinetic is None or potential is None:
        return None
    a, layout = 0.5 * basis.R, basis.layout
    reference = 0.5 * a * stiffness(layout.xi, basis.m, 1)
    inverse_mass = float(np.real(kinetic.xi[-1, -2, -3]) / reference[-1, -2, -3])
    height = np.real(np.asarray(potential.full()))[-1]
    xi, n = 1 + layout.real[-1, -1], layout.real.shape[1]
    spread = a**2 * (xi**2 - layout.kept_eta**2)
    h = np.sqrt(spread / (xi**2 - 1))
    slopes = lagrange(layout.real[-1], layout.real[-1, -1:])[1][0, : n - 1]
    slopes = slopes / np.sqrt(layout.xi.total[-1, : n - 1])
    if basis.m % 2:  # √(q/q_i) at the wall
        slopes = slopes * np.sqrt((xi**2 - 1) / layout.xi.nodes.q[-1, : n - 1])
    shifts, densities = np.zeros(len(energies)), np.zeros(len(energies))
    for j, energy in enumerate(np.asarray(energies)):
        b = np.asarray(states[j])[-(n - 1) :] / np.sqrt(layout.volume[-(n - 1) :])
        kappa = np.sqrt(2 * np.maximum(height - energy, LEAST_HEIGHT) / inverse_mass)
        pressure = np.abs(slopes @ b) ** 2 / h**3 * a * spread
        shifts[j] = np.sum(pressure * inverse_mass / (4 * kappa))
        weights = layout.xi.total[-1, n - 2] * layout.eta.total[0] * 2 * np.pi
        densities[j] = np.max(np.abs(b[-1]) ** 2 / weights)
    return shifts, densities
