"""Whole arrays on a mesh: how they come to the host, and that no device holds one."""

from __future__ import annotations

from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

import zitter as zt
from zitter import runtime

PORTION = 4096  # bytes


def main(what: str) -> dict:
    return {"gather": gather}[what]()


def gather() -> dict:
    """Arrays cut in several ways, fetched as from other processes, in portions of `PORTION`."""
    mesh = zt.configure(mesh={"rows": 2, "columns": 4}).mesh
    assert mesh is not None
    sent, same = [], []
    copied = runtime._copied

    def watched(array, sharding):
        sent.append(array.nbytes)
        return copied(array, sharding)

    cuts = [(("rows", "columns"),), ("rows", "columns"), (None, "columns"), (None, None, "rows")]
    with (
        mock.patch.object(runtime, "PORTION", PORTION),
        mock.patch.object(runtime, "_copied", watched),
    ):
        for dtype in (jnp.complex128, jnp.int32):
            known = np.arange(16 * 12 * 10).reshape(16, 12, 10).astype(dtype)
            for axes in cuts:
                array = jax.device_put(known, NamedSharding(mesh, PartitionSpec(*axes)))
                same.append(bool(np.array_equal(runtime._gathered(array), known)))
    return {"same": same, "most": max(sent), "times": len(sent)}
