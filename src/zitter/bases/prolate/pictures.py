"""ψ between the nodes: at any place in space, and |ψ|² in the plane through the nuclei."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.prolate.coordinates import lagrange

if TYPE_CHECKING:
    from zitter.bases.prolate.basis import ProlateSpheroidal

CHUNK = 4096  # places at a time: what they need of ψ is gathered in memory
POINTS = 81  # of the plane, from the middle to the wall
CENTER = 2.0  # bohr beyond R within which these points are dense


class Interpolation(NamedTuple):
    """Values of all functions at places: those of one element in ξ, and all in η."""

    element: np.ndarray  # (places,)
    xi: np.ndarray  # (places, n)
    eta: np.ndarray  # (places, N_η)


def spheroidal(a: float, rho: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(ξ − 1, η) from the distances to the nuclei."""
    first, second = np.hypot(rho, z + a), np.hypot(rho, z - a)
    # r₁ + r₂ − 2a without cancellation between the nuclei: r − |z ± a| = ρ²/(r + |z ± a|).
    around = sum(
        np.divide(rho**2, r + np.abs(along), out=np.zeros_like(r), where=r > 0)
        for r, along in ((first, z + a), (second, z - a))
    )
    beyond = 2 * np.maximum(np.abs(z) - a, 0.0)
    return (around + beyond) / (2 * a), np.clip((first - second) / (2 * a), -1.0, 1.0)


def interpolation(basis: ProlateSpheroidal, rho: np.ndarray, z: np.ndarray) -> Interpolation:
    """f_i(ξ) and g_k(η) at places; zero beyond the wall.

    Along a turned contour the polynomials are those of the real coordinate.
    """
    layout, odd = basis.layout, basis.m % 2
    t, eta = spheroidal(0.5 * basis.R, rho, z)
    ends = np.append(layout.real[:, 0], layout.real[-1, -1])
    element = np.clip(np.searchsorted(ends[1:-1], t, "right"), 0, len(layout.real) - 1)
    axis = layout.xi
    xi = np.zeros((len(t), axis.total.shape[1]))
    for e, nodes in enumerate(layout.real):
        xi[element == e] = lagrange(nodes, t[element == e])[0]
    xi = xi / np.sqrt(axis.total)[element]
    g = lagrange(layout.kept_eta, eta)[0] / np.sqrt(layout.eta.total[0])
    if odd:
        xi = xi * np.sqrt(t * (2 + t))[:, None] / np.sqrt(axis.nodes.q)[element]
        g = g * np.sqrt((1 - eta) * (1 + eta))[:, None] / np.sqrt(layout.eta.nodes.q[0])
    return Interpolation(element, xi * (t <= ends[-1])[:, None], g)


def values_at(b: jax.Array, table: Interpolation, elements: int) -> jax.Array:
    """F = Σ b_ik f_i g_k at the places of a table."""
    rows = b.reshape(elements, -1, b.shape[1])
    following = jnp.concatenate([rows[1:, :1], jnp.zeros_like(rows[:1, :1])])
    rows = jnp.concatenate([rows, following], axis=1)
    count = len(table.element)

    def place(one):
        element, xi, eta = one
        return (xi @ rows[element]) @ eta

    return jax.lax.map(place, jax.tree.map(jnp.asarray, tuple(table)), batch_size=min(count, CHUNK))


def plane_points(R: float, rmax: float) -> np.ndarray:
    """0 … rmax, dense around the nuclei."""
    center = R + CENTER
    return center * np.sinh(np.linspace(0.0, np.arcsinh(rmax / center), POINTS))
