"""Coulomb energy of periodic cells by Ewald summation: in space, in a plane, and of slabs.

    E = Σ_{i<j} q_i q_j v_E(r_ij) + ½ Σ_j q_j² v_M                       Thorpe et al., Eq. (2)

    3D  v_E(r) = (4π/Ω) Σ_{G≠0} e^{−G²/4γ + iG·r}/G² + Σ_R erfc(√γ|r−R|)/|r−R| − π/(Ωγ)   Eq. (3)
    2D  v_E(r) = (2π/A) Σ_{G≠0} erfc(G/2√γ) e^{iG·r}/G + Σ_R erfc(√γ|r−R|)/|r−R| − 2√π/(A√γ)
                                                                         Eq. (5) at z = 0
    slab v_E(r) = (4π/Ac) Σ_{G≠0,h} e^{−(G²+h²)/4γ + iG·r + ihz}/(G²+h²) + Σ_R erfc(√γ|r−R|)/|r−R|
                − (2π/A) [z erf(√γ z) + e^{−γz²}/√(πγ)]                  Eq. (5)
    v_M = lim_{r→0} [v_E(r) − 1/r]                                       Eqs. (4) and (6)

γ moves work between the two series. By default it is so large that the nearest image is the only
one that counts in real space. The reciprocal sum runs over ρ_G = Σ_j q_j e^{iG·r_j}: N phases for
each of three axes, then one matrix product, since e^{iG·r} is a product over the axes.

A slab is periodic in the plane of x and y only. The functions of z in Eq. (5) do not factorize over
pairs; their Fourier integrals over h do, and the rule of equal steps h = 2πn/c replaces f_G(z) by
Σ_m f_G(z + mc), which falls as e^{−G(c−|z|)}: c is chosen so that no pair with |z| up to `extent`
loses more than the tolerance. G = 0, which knows no such decay, is kept by pairs. All charges
together must be 0; otherwise the energy depends on where z = 0 is taken for the background.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import Cell, row_sums, squared
from zitter.qmc.energies.base import EnergyTerm
from zitter.qmc.trigonometry import cos_sin


class Ewald(eqx.Module):
    """The Ewald interaction of one cell.

    `tolerance` bounds what either series neglects of v_E, in units of 1/(inradius of the cell). For
    a slab it is kept between particles whose z differ by no more than `extent`.
    """

    cell: Cell
    waves: Cell  # whose reciprocal vectors the sum takes: those of a slab have a third axis
    gamma: Any
    images: Any  # lattice vectors added to the nearest image; only 0 when γ was left to us
    weights: Any  # of |ρ_G|²: a row for each (n₁, n₂), a column for each n₃ = 0 … n_max
    background: Any
    madelung: Any
    tolerance: float = eqx.field(static=True)
    limits: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self,
        cell: Cell,
        tolerance: float = 1e-6,
        gamma: float | None = None,
        extent: float | str | None = None,
    ):
        checks.instance("cell", cell, Cell)
        self.cell = cell
        self.tolerance = float(checks.positive("tolerance", tolerance))
        if self.tolerance >= 0.1:
            raise checks.InputError("tolerance", f"must be below 0.1, but is {self.tolerance:g}")
        radius = cell.inradius
        reach = _inverse(math.erfc, self.tolerance)  # erfc(reach) = tolerance
        if gamma is None:
            self.gamma = np.float64((reach / radius) ** 2)
            self.images = np.zeros((1, cell.vectors.shape[1]))
        else:
            self.gamma = checks.positive("gamma", gamma)
            cutoff = reach / math.sqrt(self.gamma)
            # A nearest image lies within the circumscribed radius, at most the sum of the edges.
            points = cell.lattice_points(cutoff + _circumradius(cell))
            self.images = points
        self.waves = _waves(cell, self.tolerance, extent)
        root = math.sqrt(self.gamma)
        scaled = _inverse(_tail(self.waves.dimension, root * radius), self.tolerance)
        integers, _ = self.waves.reciprocal_points(2 * root * scaled)
        self.limits = tuple(int(n) for n in np.max(np.abs(integers), axis=0))
        # One of each ±G: the last integer is not negative, and its plane 0 counts once.
        ranges = [np.arange(-n, n + 1) for n in self.limits[:-1]]
        last = np.arange(self.limits[-1] + 1)
        grid = np.stack(np.meshgrid(*ranges, last, indexing="ij"), axis=-1)
        grid = grid.reshape(-1, len(last), self.waves.dimension)
        lengths = np.linalg.norm(grid @ self.waves.reciprocal, axis=-1)
        inside = np.any(grid[..., : cell.dimension] != 0, axis=-1)
        inside &= lengths <= 2 * root * scaled * (1 + 1e-12)
        both = np.where(last == 0, 1.0, 2.0)
        factor = _fourier(np.where(inside, lengths, 1.0), self.gamma, self.waves)
        self.weights = np.where(inside, both * factor, 0.0)
        self.background = np.float64(0.0 if cell.is_slab else _background(self.gamma, cell))
        self.madelung = np.float64(madelung(cell))

    def phases(self, r: Any, dtype: Any = jnp.float64) -> tuple[Any, Any]:
        """(over the rows, over the last axis): e^{iG·r} is their product; r is (d, …)."""
        turns = jnp.tensordot(self.waves.inverse.T, r, 1)
        angles = 2 * np.pi * (turns - jnp.round(turns))
        axes = []
        for angle, limit in zip(angles, self.limits, strict=True):
            multiples = angle[..., None] * jnp.arange(limit + 1, dtype=jnp.float64)
            # The barrier keeps XLA from taking cosines anew for each product that uses them.
            axes.append(jax.lax.optimization_barrier(cos_sin(multiples, dtype)))
        real, imaginary = _both_signs(axes[0])
        if len(axes) == 3:
            a, b = real[..., :, None], imaginary[..., :, None]
            c, d = (x[..., None, :] for x in _both_signs(axes[1]))
            shape = (*angles.shape[1:], self.weights.shape[0])
            real, imaginary = (a * c - b * d).reshape(shape), (a * d + b * c).reshape(shape)
        return (real, imaginary), axes[-1]

    def structure(self, r: Any, charges: Any = None, dtype: Any = jnp.float64) -> Any:
        """ρ_G = Σ_j q_j e^{iG·r_j} as (rows, real and imaginary part, n₃); r is (d, N)."""
        (a, b), (c, d) = self.phases(r, dtype)
        if charges is not None:
            c, d = c * charges[:, None], d * charges[:, None]
        # (a + ib)(c + id) summed over electrons as one real product.
        left = jnp.concatenate([a, b], axis=0)
        right = jnp.concatenate(
            [jnp.concatenate([c, d], axis=1), jnp.concatenate([-d, c], axis=1)], axis=0
        )
        return (left.T @ right).reshape(-1, 2, self.limits[-1] + 1)

    def energy(self, r: Any, charges: Any = None, dtype: Any = jnp.float64, rho: Any = None) -> Any:
        """E of one configuration (d, N); electrons unless `charges` are given.

        `rho` is its `structure` where that is known.
        """
        n = r.shape[-1]
        rho = self.structure(r, charges, dtype) if rho is None else rho
        squares = jnp.sum(rho.astype(jnp.float64) ** 2, axis=1)
        # All ordered pairs: twice the work of a list of pairs, and still faster than gathering.
        own_place = jnp.eye(n, dtype=bool)
        apart = [jnp.where(own_place, self.cell.inradius, x[:, None] - x[None, :]) for x in r]
        pairs = jnp.where(own_place, 0.0, self._real_space(apart, dtype))
        if charges is None:
            own, total = float(n), float(n) ** 2
            real = 0.5 * jnp.sum(row_sums(pairs.astype(jnp.float64)))
        else:
            own, total = jnp.sum(charges**2), jnp.sum(charges) ** 2
            real = 0.5 * charges @ pairs @ charges
        reciprocal = 0.5 * jnp.sum(self.weights * (squares - own))
        return reciprocal + real - 0.5 * self.background * (total - own) + 0.5 * own * self.madelung

    def move(
        self, r: Any, rho: Any, particle: Any, new: Any, charges: Any = None
    ) -> tuple[Any, Any]:
        """(change of E, ρ_G afterwards) when one particle goes to `new`: O(N) + O(N_G) work."""
        n = r.shape[-1]
        q = jnp.ones(n) if charges is None else jnp.asarray(charges)
        old = r[:, particle]
        after = rho + q[particle] * (self._plane_waves(new) - self._plane_waves(old))
        recip = 0.5 * jnp.sum(self.weights * jnp.sum(after**2 - rho**2, axis=1))
        others = jnp.arange(n) != particle

        def field(point):
            # The particle itself sits at distance 0: step aside before dividing, drop it after.
            apart = [
                jnp.where(others, x - p, self.cell.inradius) for x, p in zip(r, point, strict=True)
            ]
            return jnp.sum(jnp.where(others, q * self._real_space(apart), 0.0))

        return recip + q[particle] * (field(new) - field(old)), after

    def pair(self, displacement: Any) -> Any:
        """v_E of one displacement (d,), by both series."""
        waves = self._plane_waves(displacement)[:, 0]
        real = self._real_space(list(displacement))
        return jnp.sum(self.weights * waves) + real - self.background

    def _plane_waves(self, point: Any) -> Any:
        (a, b), (c, d) = self.phases(point)
        real = a[:, None] * c - b[:, None] * d
        return jnp.stack([real, a[:, None] * d + b[:, None] * c], axis=1)

    def between(
        self, parts: Any, charges: Any, rho: Any, other: Any, dtype: Any = jnp.float64
    ) -> Any:
        """Σ_iI q_I v_E(r_i − R_I): unit charges i with charges I, the columns of `parts`.

        `parts` are the components of r_i − R_I, `rho` and `other` the structures of both.
        """
        pairs = jax.lax.optimization_barrier(self._real_space(parts, dtype))
        real = jnp.sum(pairs.astype(jnp.float64) @ charges)
        products = jnp.sum(rho.astype(jnp.float64) * other, axis=1)
        total = parts[0].shape[0] * jnp.sum(charges)
        return jnp.sum(self.weights * products) + real - self.background * total

    def _real_space(self, parts: Any, dtype: Any = jnp.float64) -> Any:
        """What is summed by pairs: erfc(√γr)/r of the images, and the term G = 0 of slabs."""
        nearest = self.cell.nearest(parts)
        root = jnp.sqrt(self.gamma).astype(dtype)
        if len(self.images) == 1:  # the nearest itself
            distance = jnp.sqrt(squared(nearest)).astype(dtype)
            total = jax.scipy.special.erfc(root * distance) / distance
        else:
            away = [x[..., None] - s for x, s in zip(nearest, self.images.T, strict=True)]
            distance = jnp.sqrt(squared(away)).astype(dtype)
            total = jnp.sum(jax.scipy.special.erfc(root * distance) / distance, axis=-1)
        if not self.cell.is_slab:
            return total
        z = nearest[2].astype(dtype)
        smooth = z * jax.scipy.special.erf(root * z)
        smooth = smooth + jnp.exp(-((root * z) ** 2)) / (math.sqrt(np.pi) * root)
        return total - (2 * np.pi / self.cell.volume).astype(dtype) * smooth


class EwaldEnergy(EnergyTerm):
    """The Ewald energy of the electrons of a cell, as "coulomb"."""

    ewald: Ewald
    sees_psi: ClassVar[bool] = False

    def evaluate(self, psi, walker, key, dtype=jnp.float64):
        return {"coulomb": self.ewald.energy(walker.r, dtype=dtype)}


def madelung(cell: Cell, tolerance: float = 1e-15) -> float:
    """v_M: the interaction of a charge with its own images and the background."""
    gamma = np.pi / cell.volume ** (2 / cell.dimension)  # both series converge alike
    root = math.sqrt(gamma)
    reach = _inverse(math.erfc, tolerance)
    r = np.linalg.norm(cell.lattice_points(reach / root), axis=1)[1:]
    g = np.linalg.norm(cell.reciprocal_points(2 * root * reach)[1], axis=1)[1:]
    real = sum(math.erfc(root * x) / x for x in r)
    recip = float(np.sum(_fourier(g, gamma, cell)))
    return real + recip - 2 * root / math.sqrt(np.pi) - _background(gamma, cell)


def _waves(cell: Cell, tolerance: float, extent: float | str | None) -> Cell:
    """The cell itself, or that of a slab with a third axis of the length c."""
    if not cell.is_slab:
        if extent is not None:
            raise checks.InputError("extent", "must be given for slabs only")
        return cell
    if extent is None:
        raise checks.InputError("extent", "must be given for a slab")
    shortest = np.linalg.norm(cell.reciprocal_points(4 * np.pi / cell.inradius)[1], axis=1)[1]
    # At most six vectors are shortest, each losing (2π/AG) e^{−G(c−|z|)}.
    lost = 6 * 2 * np.pi / (cell.volume * shortest) * cell.inradius
    axis = checks.positive("extent", extent, "length") + math.log(lost / tolerance) / shortest
    return Cell([*cell.vectors.tolist(), [0.0, 0.0, float(axis)]])


def _fourier(g: Any, gamma: float, cell: Cell) -> Any:
    if cell.dimension == 3:
        return 4 * np.pi / cell.volume * np.exp(-(g**2) / (4 * gamma)) / g**2
    screened = np.vectorize(math.erfc, otypes=[np.float64])(g / (2 * math.sqrt(gamma)))
    return 2 * np.pi / cell.volume * screened / g


def _background(gamma: float, cell: Cell) -> float:
    if cell.dimension == 3:
        return np.pi / (cell.volume * gamma)
    return 2 * math.sqrt(np.pi) / (cell.volume * math.sqrt(gamma))


def _tail(dimension: int, scale: float):
    """What the reciprocal series loses beyond G = 2√γ·y, in units of 1/inradius, by y.

    Sums over G become integrals: 3D (2/π)∫e^{−G²/4γ}dG; 2D ∫erfc(G/2√γ)dG. `scale` is √γ·inradius.
    """
    if dimension == 3:
        return lambda y: scale * 2 / math.sqrt(np.pi) * math.erfc(y)
    return lambda y: 2 * scale * (math.exp(-y * y) / math.sqrt(np.pi) - y * math.erfc(y))


def _inverse(decreasing: Any, value: float) -> float:
    """The argument at which a decreasing function of positive numbers takes `value`."""
    low, high = 0.0, 12.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if decreasing(middle) > value else (low, middle)
    return high


def _circumradius(cell: Cell) -> float:
    return float(np.linalg.norm(np.linalg.norm(np.asarray(cell.vectors), axis=1)) / 2 * 1.5)


def _both_signs(table: tuple[Any, Any]) -> tuple[Any, Any]:
    """cos and sin of nθ for n = −m … m from those for n = 0 … m."""
    c, s = table
    return (
        jnp.concatenate([c[..., :0:-1], c], axis=-1),
        jnp.concatenate([-s[..., :0:-1], s], axis=-1),
    )
