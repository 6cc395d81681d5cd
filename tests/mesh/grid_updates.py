"""Explicit updates in imaginary time on slabs, two for each exchange."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import zitter as zt
from zitter import runtime
from zitter.linalg.kernels import explicit_update
from zitter.linalg.slabs import Slabs


def main(counts: list[int]) -> dict:
    """Whether all counts give the same bits, and how far they are from one device."""
    zt.configure()
    numbers, shape = np.random.default_rng(0), (13, 7, 9)
    psi, g = numbers.random(shape), 1 / (2 + numbers.random(shape))
    weights, updates = jnp.asarray([0.1, 0.2, 0.15]), jnp.asarray(6)
    plain = np.asarray(jax.jit(explicit_update.advance_xla)(psi, g, weights, updates))
    found = []
    for count in counts:
        mesh = runtime.make_mesh({"space": count}, jax.devices()[0])
        assert mesh is not None
        layout = Slabs(shape, mesh)
        advance = jax.jit(explicit_update.advance_slabs, static_argnums=0)
        after = advance(layout, layout.divide(psi), layout.divide(g, "edge"), weights, updates)
        assert not np.any(np.asarray(after)[shape[0] :])
        found.append(layout.join(after))
    return {
        "same_bits": all(np.array_equal(each, found[0]) for each in found),
        "error": max(float(np.max(np.abs(each - plain))) for each in found),
    }
