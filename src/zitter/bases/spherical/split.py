"""Light in length gauge on B-splines times harmonics: diagonal in radius, turned by constants.

r·n is diagonal in the eigenvectors of the radial matrix r, and in those of cos θ once the axes are
turned to n, so that its exponential is exact and unitary (the Peaceman–Rachford idea of Kulander,
Schafer & Krause in Atoms in Intense Laser Fields (1992), for any direction of light).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zitter import checks, runtime
from zitter.bases.bsplines import RadialBSplines
from zitter.bases.spherical.implicit import RadialResolvents
from zitter.bases.spherical.light_frame import LightFrame, Sectors
from zitter.bases.spherical.operators import Angles
from zitter.bases.spherical.radial_steps import RadialSteps, cayley_matrices
from zitter.bases.split import NEEDS_LENGTH_GAUGE, LightSplit
from zitter.bases.unit_vector import unit_vector
from zitter.linalg.angular_coupling import AngularCoupling
from zitter.linalg.bands import host_dense
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.blocks import RadialBlocks
from zitter.linalg.chain import Chain
from zitter.linalg.radial_solver import RadialSolver
from zitter.linalg.resolvents import factors_at
from zitter.linalg.row_blocks import batches_here
from zitter.linalg.sums import parts_of


class AngularKicks(LightSplit):
    """Coefficients on the eigenvectors of r, as real and imaginary planes (rows, 2, n): most
    matrices are real. Rows are those of the `frame`; on many devices all channels."""

    points: jax.Array
    forward: jax.Array
    backward: jax.Array
    units: jax.Array  # the direction of each light, (number, 3)
    frame: LightFrame | None  # once `ready`
    sectors: Sectors = eqx.field(static=True)
    channels: tuple[tuple[int, int], ...] = eqx.field(static=True)
    central: bool = eqx.field(static=True)  # whether channels of one l have the same H₀
    batches: int = eqx.field(static=True)  # of blocks of numbers
    layout: Chain | None  # of channels on many devices

    def ready(self):
        return self._framed(None)

    @property
    def narrows(self):
        frame = self.frame
        return self.layout is None and frame is not None and len(self._sectors(frame)) > 1

    def narrowed(self, *psi):
        """Only the rows of those sectors in which one of the states has a part."""
        frame = self.frame
        if not self.narrows or frame is None or checks.is_traced(psi):
            return self
        every = self._sectors(frame)
        kept = {sector for one in psi for sector in self._reached(frame, one)}
        return self if kept == every else self._framed(sorted(kept))

    def _sectors(self, frame: LightFrame) -> set[int]:
        return {self.sectors.of_row(*row) for row in frame.rows}

    def _reached(self, frame: LightFrame, psi: Any) -> list[int]:
        with jax.ensure_compile_time_eval():
            rows = np.asarray(frame.enter(_planes(jnp.asarray(psi))), float)
        weights: dict[int, float] = {}
        for row, values in zip(frame.rows, rows, strict=True):
            sector = self.sectors.of_row(*row)
            weights[sector] = weights.get(sector, 0.0) + float(np.sum(values**2))
        # Turning the axes leaves rounding errors in the others.
        least = (100 * float(jnp.finfo(psi.dtype).eps)) ** 2 * sum(weights.values())
        return [sector for sector, weight in weights.items() if weight > least]

    def _framed(self, kept: Sequence[int] | None) -> AngularKicks:
        frame = self.sectors.frame(self.channels, kept, self.batches, self.points.dtype)
        return eqx.tree_at(lambda s: s.frame, self, frame, is_leaf=lambda x: x is None)

    def enter(self, psi):
        assert self.frame is not None
        psi = _radial(self.forward.T, _planes(psi))
        return psi if self.layout is not None else self.frame.enter(psi)

    def leave(self, psi):
        assert self.frame is not None
        psi = psi if self.layout is not None else self.frame.leave(psi)
        planes = _radial(self.backward.T, psi)
        return jax.lax.complex(planes[:, 0], planes[:, 1])

    def kick(self, psi, angles):
        assert self.frame is not None
        if not len(self.units):
            return psi
        kappa = (angles @ self.units).astype(psi.dtype)  # in double until here
        if self.layout is None:
            return self.frame.kicked(psi, self.points, kappa)
        # All channels of a radius are wanted together.
        return self.layout.across(_among_all, psi, self.points, self.frame, kappa)

    def factors(self, family, zs):
        assert isinstance(family, RadialResolvents) and self.frame is not None
        if self.layout is not None:
            return factors_at(family, zs)
        place = {channel: i for i, channel in enumerate(self.channels)}
        rows = np.asarray([place[row] for row in self.frame.rows])
        l = [l for l, _ in self.frame.rows]
        if self.central:
            bands = _checked_central(family.bands, self.channels)
            family = eqx.tree_at(lambda f: f.bands, family, bands)
        if not self.central or len(set(l)) == len(l):
            return factors_at(family.each(rows), zs)
        _, first, counts = np.unique(l, return_index=True, return_counts=True)
        family = family.each(rows[first])
        matrices = cayley_matrices(family, self.forward, zs)
        return RadialSteps(matrices, counts.tolist(), 3 * self.batches - 2)

    def free(self, family, factors, zs, psi):
        if isinstance(factors, RadialSteps):
            return factors.solve(psi)
        for solver in factors:
            assert isinstance(solver, RadialSolver)
            solved = solver.solve_planes(_radial(self.forward, psi))
            psi = 2 * _radial(self.forward.T, solved) - psi
        return psi


def angular_split(
    basis: Angles,
    atom: Operator,
    lights: Sequence[Operator],
    layout: Chain | None = None,
    batches: int | None = None,
) -> AngularKicks:
    """The kicks, or `Unsupported` and why there are none; `RowBlocks` tells of `batches`."""
    if basis.complex_scaled:
        raise Unsupported(
            "AngularSplit needs a real r, which ExteriorScaling turns; use VelocityGauge with "
            "CrankNicolson, or a ComplexAbsorber"
        )
    parts = [part for light in lights for part in parts_of(light)]
    if any(isinstance(part, RadialBlocks) for part in parts):
        raise Unsupported("AngularSplit needs a central potential that does not change with time")
    blocks = [part for part in parts_of(atom) if isinstance(part, RadialBlocks)]
    if len(blocks) < len(parts_of(atom)):
        raise Unsupported("AngularSplit needs a field-free part that does not couple channels")
    units = [_unit(light, basis) for light in lights]
    dtype = jnp.finfo(atom.dtype).dtype
    points, forward, backward = _eigenvectors(basis.radial, dtype, runtime.settings().device)
    central = all(_central(part, basis) for part in blocks)
    known = None if checks.is_traced(units) else units
    tolerance = 20 * float(jnp.finfo(dtype).eps)
    return AngularKicks(
        points,
        forward,
        backward,
        jnp.asarray(units, jnp.float64).reshape(-1, 3),
        None,
        Sectors.of(known, central and layout is None, tolerance),
        basis.channels,
        central,
        batches_here() if batches is None else batches,
        layout,
    )


@functools.lru_cache(maxsize=2)
def _eigenvectors(radial: RadialBSplines, dtype: Any, device: Any) -> tuple[jax.Array, ...]:
    """(r_i, (SC)ᵀ, C) of the matrix r: rC = SC diag(r_i), CᵀSC = 1.

    Kept where they are used, so that the run that checks the step shares them.
    """
    with jax.ensure_compile_time_eval():
        r = host_dense(radial.matrix(lambda r: r))
        overlap = host_dense(radial.overlap)
        points, vectors = map(runtime.of_first, scipy.linalg.eigh(r, overlap))
        found = points, (overlap @ vectors).T, vectors
        return tuple(jnp.asarray(array, dtype) for array in found)


def _planes(psi: jax.Array) -> jax.Array:
    return jnp.stack([jnp.real(psi), jnp.imag(psi)], axis=1)


def _radial(matrix: jax.Array, psi: jax.Array) -> jax.Array:
    """ψM over the last axis of (channels, 2, n), as one product of matrices."""
    return (psi.reshape(-1, psi.shape[2]) @ matrix).reshape(psi.shape)


def _among_all(psi: jax.Array, points: jax.Array, frame: LightFrame, kappa: Any) -> jax.Array:
    """The kick of all channels at some radii, in their own order."""
    return frame.leave(frame.kicked(frame.enter(psi), points, kappa))


def _unit(light: Operator, basis: Angles) -> Any:
    """u, where the light is u·r = Σ_c u_c n_c r with the matrices of `unit_vector`."""
    unit: list[Any] = [0.0, 0.0, 0.0]
    for part in parts_of(light):
        if not isinstance(part, AngularCoupling) or len(part.bands) != 1:
            raise Unsupported(NEEDS_LENGTH_GAUGE)
        weights = part.all_weights()[0]
        left = None if checks.is_traced(weights) else part.neighbors.matrix(weights)
        largest = 0.0 if left is None else abs(left).max()
        for c in basis.directions:
            neighbors, (n, _) = unit_vector(basis.channels, c)
            if not np.any(n):
                continue
            # Its elements above and below the diagonal tell n_c from the other two.
            i, slot = np.unravel_index(np.argmax(np.abs(n)), n.shape)
            j, known = neighbors.rows[i, slot], n[i, slot]
            above, below = (part.neighbors.element(weights, *pair) for pair in ((i, j), (j, i)))
            found = (above / known + below / np.conj(known)).real / 2
            unit[c] = unit[c] + found
            left = left if left is None else left - found * neighbors.matrix(n)
        if left is not None and abs(left).max() > 1e-5 * largest:
            raise Unsupported(NEEDS_LENGTH_GAUGE)
    return unit


def _central(blocks: RadialBlocks, basis: Angles) -> bool:
    """Whether channels that differ in m have the same matrix; supposed where H₀ is traced."""
    if checks.is_traced(blocks.bands):
        return True
    first = _first_of_each_l(basis.channels)
    bands = runtime.to_host(blocks.bands)[: len(first)]
    return np.array_equal(bands, bands[first])


def _checked_central(bands: jax.Array, channels: tuple[tuple[int, int], ...]) -> jax.Array:
    """What was supposed is looked at here: NaN rather than wrong numbers."""
    same = jnp.all(bands == bands[_first_of_each_l(channels)])
    return jnp.where(same, bands, jnp.nan)


def _first_of_each_l(channels: tuple[tuple[int, int], ...]) -> np.ndarray:
    """For each channel the first one with its l."""
    l = [l for l, _ in channels]
    return np.asarray([l.index(k) for k in l])
