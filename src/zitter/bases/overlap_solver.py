"""S⁻¹ of radial splines, by factors of its bands: a dense inverse would be many times as large, and
every program that uses it would hold a copy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.linalg.base import cast_reals
from zitter.linalg.radial_solver import RadialSolver

if TYPE_CHECKING:
    from zitter.bases.bsplines import RadialBSplines


def solve_overlap(radial: RadialBSplines, rows: jax.Array) -> jax.Array:
    """S⁻¹ of each of the rows (m, n), in their precision."""
    dtype = jnp.result_type(rows)
    solver = cast_reals(jax.tree.map(jnp.asarray, _factors(radial)), jnp.finfo(dtype).dtype)
    found = solver.solve_many(rows[None])[0]
    real = not jnp.iscomplexobj(rows) and not np.iscomplexobj(radial.overlap)
    return jnp.real(found) if real else found.astype(jnp.result_type(dtype, found.dtype))


@functools.lru_cache(maxsize=32)
def _factors(radial: RadialBSplines) -> RadialSolver:
    with jax.ensure_compile_time_eval():
        # As one program: one for each of its operations would take more memory than they all do.
        made = eqx.filter_jit(RadialSolver)(jnp.asarray(radial.overlap)[None])
        return jax.tree.map(np.asarray, made)
