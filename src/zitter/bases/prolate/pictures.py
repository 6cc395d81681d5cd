"""ψ between the nodes: at any place in space, and |ψ|² in the plane through the nuclei."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from zitter.bases.prolate.coordinates import lagrange
from zitter.bases.prolate.elements import Elements, sooner

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


def values_at(b: jax.Array, table: Interpolation, layout: Elements | None = None) -> jax.Array:
    """F = Σ b_ik f_i g_k at the places of a table; on many devices each gives what is in its own
    elements."""
    count, n = table.xi.shape

    def values(b, *table):
        rows = b.reshape(-1, n - 1, b.shape[1])
        rows = jnp.concatenate([rows, sooner(rows[:, :1], layout)], axis=1)

        def place(one):
            element, xi, eta = one
            if layout is None:
                return (xi @ rows[element]) @ eta
            mine = element - layout.first
            here = (mine >= 0) & (mine < len(rows))
            return jnp.where(here, (xi @ rows[jnp.where(here, mine, 0)]) @ eta, 0)

        found = jax.lax.map(place, table[:3], batch_size=min(count, CHUNK))
        return found if layout is None else jax.lax.psum(found, layout.axis)

    tables = jax.tree.map(jnp.asarray, tuple(table))
    if layout is None:
        return values(b, *tables)
    return layout.over(values, PartitionSpec(), (b,), tables)


def plane_points(R: float, rmax: float) -> np.ndarray:
    """0 … rmax, dense around the nuclei."""
    center = R + CENTER
    return center * np.sinh(np.linspace(0.0, np.arcsinh(rmax / center), POINTS))


def evaluate(
    basis: ProlateSpheroidal, b: jax.Array, x: Any, y: Any, z: Any, layout: Elements | None = None
) -> Any:
    """ψ at places in space, from b = D∘c."""
    x, y, z = np.broadcast_arrays(*(np.asarray(c, float) for c in (x, y, z)))
    table = interpolation(basis, np.hypot(x, y).reshape(-1), z.reshape(-1))
    found = values_at(b, table, layout).reshape(x.shape) / np.sqrt(2 * np.pi)
    return found * np.exp(1j * basis.m * np.arctan2(y, x)) if basis.m else found


def density(basis: ProlateSpheroidal, b: jax.Array, layout: Elements | None = None) -> jax.Array:
    """|ψ|² in the plane of x and z, from b = D∘c."""
    half, z = plane_points(basis.R, basis.rmax), basis.density_axes()["z"]
    rho, along = np.meshgrid(half, z, indexing="ij")
    density = jnp.abs(evaluate(basis, b, rho, 0.0, along, layout)) ** 2
    return jnp.concatenate([density[:0:-1], density])
