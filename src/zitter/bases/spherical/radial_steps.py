"""The field-free step as one matrix for each l, on the eigenvectors of r, for all m at once.

    C(τ) = Π (1 + z/s)/(1 − z/s)  or  e^z,    z = −iτS⁻¹H_l

Between two kicks a solution with bands would have to leave these coefficients and enter them again,
which costs as much as the product with this matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.spherical.implicit import RadialResolvents
from zitter.linalg.base import Solver
from zitter.linalg.radial_solver import RadialSolver
from zitter.linalg.resolvents import factors_at
from zitter.linalg.row_blocks import Groups


class RadialSteps(Solver):
    """Matrices C(τ)ᵀ side by side as real and imaginary parts, (blocks, n, 2n) of each batch, for
    groups of rows."""

    matrices: tuple[jax.Array, ...]
    groups: Groups

    def __init__(self, matrices: jax.Array, counts: Sequence[int], batches: int):
        parts = [jnp.real(matrices), jnp.imag(matrices)]
        both = jnp.concatenate([jnp.swapaxes(part, 1, 2) for part in parts], axis=2)
        self.groups = Groups(counts, batches)
        ends = np.cumsum([shape[0] for shape in self.groups.shapes])
        self.matrices = tuple(jnp.split(both, ends[:-1]))

    def solve(self, image: jax.Array) -> jax.Array:
        """C(τ)ψ of planes (rows, 2, n)."""
        n, found = image.shape[2], []
        for matrix, rows in zip(self.matrices, self.groups.filled(image), strict=True):
            product = rows.reshape(rows.shape[0], -1, n) @ matrix
            found.append(product.reshape(*rows.shape[:3], 2 * n))
        planes = self.groups.joined(found)
        real = planes[:, 0, :n] - planes[:, 1, n:]
        return jnp.stack([real, planes[:, 0, n:] + planes[:, 1, :n]], axis=1)


def cayley_matrices(family: RadialResolvents, forward: jax.Array, zs: Sequence[Any]) -> jax.Array:
    """Π (S + zH₀)⁻¹(S − zH₀) of each block of the family, with `forward` F into its coefficients:
    2F(S + zH₀)⁻¹Fᵀ − 1."""
    n = forward.shape[1]
    product: Any = None
    for z, solver in zip(zs, factors_at(family, zs), strict=True):
        columns = jnp.broadcast_to(forward, (family.bands.shape[0], n, n)).astype(z.dtype)
        assert isinstance(solver, RadialSolver)
        solved = solver.solve_many(columns)
        matrix = 2 * jnp.einsum("ik,bjk->bij", forward, solved) - jnp.eye(n)
        product = matrix if product is None else matrix @ product
    return product.astype(zs[0].dtype)
