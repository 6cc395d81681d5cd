"""Gaussian orbitals with the cusp that point nuclei ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.orbitals.base import Orbitals
from zitter.qmc.orbitals.cusps import Cusp, SPart, cusp
from zitter.qmc.orbitals.gaussians import GaussianGroup, Gaussians
from zitter.qmc.orbitals.points import over_points, points_at_a_time

if TYPE_CHECKING:
    from zitter.qmc.systems.nuclei import Nuclei


class Patches(eqx.Module):
    """What the orbitals change by near the nuclei: ±e^{p(r)} − s(r) for r < r_c."""

    positions: Any  # (nuclei, 3)
    radii: Any  # r_c (nuclei, orbitals), 0 where nothing changes
    signs: Any  # (nuclei, orbitals)
    powers: Any  # α_k (5, nuclei, orbitals)
    exponents: Any  # of s (nuclei, P)
    coefficients: Any  # of s (nuclei, P, orbitals)

    def __call__(self, r: Any, order: int, dtype: Any) -> tuple[Any, ...]:
        """Changes at r (3, M): (M, orbitals), (3, M, orbitals) for order 1, (M, orbitals)."""
        offset = (r[:, None, :] - self.positions.T[:, :, None]).astype(dtype)
        square = jnp.sum(offset**2, axis=0)  # (nuclei, M)
        # Not closer than this to a nucleus, where slopes have no limit.
        distance = jnp.sqrt(jnp.maximum(square, 1e-30))[..., None]
        a = jnp.asarray(self.powers, dtype)[:, :, None, :]
        near = distance < jnp.asarray(self.radii, dtype)[:, None, :]
        t = jnp.where(near, distance, 0)
        p = a[0] + t * (a[1] + t * (a[2] + t * (a[3] + t * a[4])))
        new = jnp.asarray(self.signs, dtype)[:, None, :] * jnp.exp(p)
        old = self._s_parts(square, order, dtype)
        total = lambda x: jnp.sum(jnp.where(near, x, 0), axis=0)  # noqa: E731
        found = [total(new - old[0])]
        if order > 0:
            slope = a[1] + t * (2 * a[2] + t * (3 * a[3] + t * 4 * a[4]))
            steep = jnp.where(near, slope * new / distance - old[1], 0)
            found.append(jnp.einsum("dim,imj->dmj", offset, steep))
        if order > 1:
            bend = 2 * a[2] + t * (6 * a[3] + t * 12 * a[4])
            curved = new * (bend + slope**2 + 2 * slope / distance)
            found.append(total(curved - 3 * old[1] - square[..., None] * old[2]))
        return tuple(found)

    def _s_parts(self, square: Any, order: int, dtype: Any) -> list[Any]:
        """s, Σ(−2α)… and Σ4α²… of all orbitals, each (nuclei, M, orbitals)."""
        exponents = jnp.asarray(self.exponents, dtype)
        table = jnp.exp(-exponents[:, :, None] * square[:, None, :])
        weights = [self.coefficients]
        for _ in range(order):
            weights.append(-2 * self.exponents[:, :, None] * weights[-1])
        return [jnp.einsum("ipm,ipj->imj", table, jnp.asarray(w, dtype)) for w in weights]


class CuspCorrected(Orbitals):
    """Gaussian orbitals whose s part near point nuclei has the right cusp; see `cusp_corrected`."""

    orbitals: Gaussians
    patches: Patches
    together: tuple[int, ...] = eqx.field(static=True)
    count: int = eqx.field(static=True)
    is_complex: bool = eqx.field(static=True)

    def __init__(self, orbitals: Gaussians, patches: Patches):
        self.orbitals = orbitals
        self.patches = patches
        self.count = orbitals.count
        self.is_complex = False
        numbers = patches.radii.size + patches.exponents.size
        self.together = tuple(points_at_a_time((order + 1) * numbers) for order in range(3))

    def displaced(self, carry):
        """Corrections go along as they are. What other centers add at a nucleus changes with the
        shift, and Z_eff with it: cusps are off at first order, which leaves E_L a small 1/r."""
        where = lambda o: (o.orbitals, o.patches.positions)  # noqa: E731
        changed = (self.orbitals.displaced(carry), carry(self.patches.positions))
        return eqx.tree_at(where, self, changed)

    def _changed(self, found: tuple[Any, ...], r: Any, order: int, dtype: Any) -> tuple[Any, ...]:
        if self.patches.positions.shape[0] == 0:
            return found
        patch = lambda data, r: data(r, order, dtype)  # noqa: E731
        changes = over_points(patch, self.patches, r, self.together[order])
        return jax.tree.map(jnp.add, found, changes)

    def values(self, r, dtype=jnp.float64):
        return self._changed((self.orbitals.values(r, dtype),), r, 0, dtype)[0]

    def slopes(self, r, dtype=jnp.float64):
        return self._changed(self.orbitals.slopes(r, dtype), r, 1, dtype)

    def derivatives(self, r, dtype=jnp.float64):
        found = self.orbitals.derivatives(r, jnp.float64)
        changed = self._changed(found, r, 2, jnp.float64)
        return tuple(part.astype(dtype) for part in changed)


def cusp_corrected(gaussians: Gaussians, nuclei: Nuclei) -> CuspCorrected:
    """Gaussian orbitals with the electron–nucleus cusp of Ma et al. (2005) at bare nuclei.

    Near each point charge of `nuclei` the s part of each orbital is replaced as told in
    `zitter.qmc.orbitals.cusps`. Nuclei with pseudopotentials, orbitals without an s part at a
    nucleus, or with a node of it close by, are left alone.
    """
    checks.instance("gaussians", gaussians, Gaussians)
    parts = s_parts(gaussians)
    bare = np.flatnonzero(nuclei.bare)
    if not bare.size:
        return CuspCorrected(gaussians, _patches([], [], gaussians.count))
    positions, charges = nuclei.positions[bare], nuclei.charges[bare]
    at_nuclei = np.asarray(eqx.filter_jit(gaussians.values)(positions.T))
    kept, rows = [], []
    for i, (position, charge) in enumerate(zip(positions, charges, strict=True)):
        here = [part for place, part in parts if np.linalg.norm(place - position) < 1e-8]
        if not here:
            continue
        gaps = np.linalg.norm(nuclei.positions - position, axis=1)
        room = 0.5 * np.min(gaps[gaps > 1e-8], initial=np.inf)
        table = here[0].coefficients
        cusps = [
            cusp(
                SPart(here[0].exponents, table[:, j]),
                float(charge),
                float(at_nuclei[i, j] - np.sum(table[:, j])),
                room,
            )
            for j in range(gaussians.count)
        ]
        if any(c.radius > 0 for c in cusps):
            kept.append((position, here[0]))
            rows.append(cusps)
    return CuspCorrected(gaussians, _patches(kept, rows, gaussians.count))


def s_parts(gaussians: Gaussians) -> list[tuple[np.ndarray, SPart]]:
    """For each center, the s functions there as coefficients (P, orbitals) of exponentials."""
    found = []
    first = 0
    table = np.asarray(gaussians.combinations.coefficients)
    for entry in gaussians.combinations.groups:
        group = checks.instance("gaussians", entry, GaussianGroup)
        centers, number = group.centers.shape[0], group.numbers[0]
        rows = table[first : first + number * centers].reshape(number, centers, table.shape[1])
        first += group.functions(gaussians.combinations.cartesian)
        sums = np.einsum("kp,kaj->apj", group.weights[:number], rows)
        used = np.any(group.weights[:number] != 0, axis=0)
        for place, sum_ in zip(group.centers, sums, strict=True):
            found.append((place, SPart(group.exponents[used], sum_[used])))
    return [(place, part) for place, part in found if part.exponents.size]


def _patches(kept: list[tuple[Any, SPart]], rows: list[list[Cusp]], orbitals: int) -> Patches:
    count = len(kept)
    most = max((part.exponents.size for _, part in kept), default=0)
    exponents, coefficients = np.ones((count, most)), np.zeros((count, most, orbitals))
    for i, (_, part) in enumerate(kept):
        exponents[i, : part.exponents.size] = part.exponents
        coefficients[i, : part.exponents.size] = part.coefficients
    shape = (count, orbitals)
    powers = np.reshape([[c.powers for c in row] for row in rows], (*shape, 5))
    return Patches(
        positions=np.reshape([place for place, _ in kept], (count, 3)),
        radii=np.reshape([[c.radius for c in row] for row in rows], shape),
        signs=np.reshape([[c.sign for c in row] for row in rows], shape),
        powers=np.moveaxis(powers, 2, 0),
        exponents=exponents,
        coefficients=coefficients,
    )
