"""Spinors on many devices, cut between values of μ: what keeps κ and μ stays where it is."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.divided import DividedBasis
from zitter.bases.edges import Edge
from zitter.bases.spinor import operators
from zitter.bases.spinor.basis import SpinorBasis, solved_overlap
from zitter.bases.spinor.blocks import SpinorBlocks
from zitter.bases.spinor.edges import LastKappa
from zitter.bases.spinor.folded import FoldedChain
from zitter.bases.spinor.levels import SpinorLevels, levels_of
from zitter.bases.spinor.solver import SpinorSolver
from zitter.linalg.bands import banded_product
from zitter.linalg.base import Operator, Solver, Unsupported
from zitter.linalg.pairs import times_rows
from zitter.linalg.resolvents import Factors, Resolvents
from zitter.linalg.sums import partition


class DividedSpinorBasis(DividedBasis):
    """A `SpinorBasis` in pairs of |μ| over the mesh axis "angular"."""

    parent: SpinorBasis = eqx.field(static=True)
    layout: FoldedChain = eqx.field(static=True)

    def __init__(self, parent: SpinorBasis, layout: FoldedChain):
        self.parent, self.layout = parent, layout

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.layout.shape

    @property
    def kappa_max(self) -> int:
        return self.parent.kappa_max

    @property
    def orthonormal(self) -> bool:
        return False

    def overlap(self, psi: jax.Array) -> jax.Array:
        bands = self.parent.overlap_matrices(jnp.finfo(psi.dtype).dtype)
        return self.layout.over_kappa(_banded, psi, bands)

    def solve_overlap(self, image: jax.Array) -> jax.Array:
        bands = self.parent.overlap_matrices(jnp.finfo(image.dtype).dtype)
        complex_image = image.astype(jnp.result_type(image, jnp.complex64))
        solution = self.layout.over_kappa(
            lambda rows, bands: solved_overlap(bands, rows), complex_image, bands
        )
        return solution if jnp.iscomplexobj(image) else jnp.real(solution)

    def braket(self, bra: jax.Array, image: jax.Array) -> jax.Array:
        return jnp.vdot(bra, image)

    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        return jnp.vdot(bra, self.overlap(ket))

    def axes(self) -> dict[str, Any]:
        return self.parent.axes()

    def sphere(self, radius: float) -> Operator:
        return operators.sphere(self.parent, radius).divided(self.layout)

    def kappa_weights(self, psi: jax.Array) -> tuple[np.ndarray, jax.Array]:
        weights = jnp.sum(jnp.real(jnp.conj(psi) * self.overlap(psi)), axis=1)
        distinct = self.parent.distinct_kappas
        mine = self.layout.pairs.kappas[None, :] == distinct[:, None]
        return distinct, jnp.asarray(mine, weights.dtype) @ weights

    def edges(self, driven: bool, open_end: bool) -> tuple[Edge, ...]:
        return (LastKappa(self),) if driven and self.kappa_max > 1 else ()

    # Implicit steps: all μ of a κ share its levels or factors, which every device has.

    def separate(self, operator: Operator) -> tuple[Operator | None, Operator | None]:
        return partition(operator, keeps_kappa)

    def resolvents(self, operator: Operator) -> Resolvents:
        if not isinstance(operator, DividedBlocks):
            raise Unsupported(f"{type(operator).__name__} couples channels: it has no levels")
        dtype = jnp.finfo(operator.dtype).dtype
        return DividedLevels(levels_of(operator.blocks, self.parent, dtype), self.layout)

    def factored_resolvents(self, operator: Operator) -> Resolvents:
        if not isinstance(operator, DividedBlocks):
            raise Unsupported(f"{type(operator).__name__} couples channels and is not factored")
        return DividedFactors(operator, self)


def keeps_kappa(operator: Operator) -> bool:
    return isinstance(operator, DividedBlocks) and operator.hermitian


class DividedBlocks(Operator):
    """`SpinorBlocks` on states of a `FoldedChain`."""

    blocks: SpinorBlocks
    layout: FoldedChain = eqx.field(static=True)

    def __init__(self, blocks: SpinorBlocks, layout: FoldedChain):
        self.blocks, self.layout = blocks, layout

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape

    @property
    def hermitian(self) -> bool:
        return self.blocks.hermitian

    @property
    def bounded_below(self) -> bool:
        return self.blocks.bounded_below

    @property
    def dtype(self) -> Any:
        return self.blocks.dtype

    def apply(self, psi: jax.Array) -> jax.Array:
        return self.layout.over_kappa(_banded, psi, self.blocks.bands())

    def scaled(self, factor: Any) -> DividedBlocks:
        return DividedBlocks(self.blocks.scaled(factor), self.layout)

    def merged(self, other: Operator) -> DividedBlocks | None:
        if not isinstance(other, DividedBlocks) or other.layout != self.layout:
            return None
        both = self.blocks.merged(other.blocks)
        return None if both is None else DividedBlocks(both, self.layout)

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        return self.blocks.bounds()


class DividedLevels(Resolvents):
    """Coefficients among the levels of H₀, on the device of their μ."""

    levels: SpinorLevels
    layout: FoldedChain = eqx.field(static=True)

    def at(self, z):
        pairs, distinct = self.layout.pairs, self.levels.basis.distinct_kappas
        row = np.argmax(pairs.kappas[:, None] == distinct[None, :], axis=1)  # padding is zero
        return Factors(self.layout.keep(1 / (1 + z * self.levels.energies[row])))

    def enter(self, psi):
        bands = self.levels.basis.overlap_matrices(jnp.finfo(psi.dtype).dtype)
        return self._project(self.layout.over_kappa(_banded, psi, bands))

    def leave(self, coefficients):
        return self.layout.over_kappa(_to_splines, coefficients, self.levels.vectors)

    def image(self, operator, coefficients):
        return self._project(operator.apply(self.leave(coefficients)))

    def _project(self, image):
        return self.layout.over_kappa(_transformed, image, self.levels.vectors)


class DividedFactors(Resolvents):
    """Banded factors of S + zH₀ for each κ."""

    operator: DividedBlocks
    basis: DividedSpinorBasis = eqx.field(static=True)

    @property
    def renewable(self) -> bool:
        return True

    def at(self, z):
        parent = self.basis.parent
        overlap = parent.overlap_matrices(jnp.finfo(jnp.result_type(z)).dtype)
        bands = overlap + z * self.operator.blocks.bands()
        return DividedSolver(SpinorSolver(parent, bands), self.basis.layout)

    def resolved(self, solver, z: Any, coefficients: jax.Array) -> jax.Array:
        return solver.solve(self.basis.overlap(coefficients))


class DividedSolver(Solver):
    """`SpinorSolver` on the rows of each device."""

    solver: SpinorSolver
    layout: FoldedChain = eqx.field(static=True)

    def solve(self, rhs: jax.Array) -> jax.Array:
        return self.layout.over_kappa(
            lambda rows, solver: solver.solve_grouped(rows), rhs, self.solver
        )


def _banded(rows: jax.Array, bands: jax.Array) -> jax.Array:
    return banded_product(bands[:, None], rows)


def _to_splines(rows: jax.Array, vectors: tuple[jax.Array, ...]) -> jax.Array:
    return _transformed(rows, tuple(jnp.swapaxes(v, 1, 2) for v in vectors))


def _transformed(rows: jax.Array, matrices: tuple[jax.Array, ...]) -> jax.Array:
    """(distinct κ, slots, 2n) times the matrices of groups of neighboring κ."""
    edges = np.cumsum([0, *(len(m) for m in matrices)])
    parts = [times_rows(rows[a:b], m) for a, b, m in zip(edges, edges[1:], matrices, strict=False)]
    return jnp.concatenate(parts)
