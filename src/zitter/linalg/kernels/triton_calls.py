"""Triton kernels through jax-triton (NVIDIA and AMD GPUs): when to use them, and how to call."""

from __future__ import annotations

import importlib.util
import inspect
from typing import Any

from zitter import runtime


def has_triton() -> bool:
    """Whether the chosen device is one GPU and jax-triton is installed.

    XLA splits its own programs over a mesh, but not these kernels.
    """
    now = runtime.settings()
    alone = now.device.platform == "gpu" and (now.mesh is None or now.mesh.size == 1)
    return alone and importlib.util.find_spec("jax_triton") is not None


def call(kernel: Any, *arrays: Any, out: Any, grid: Any, warps: int, **constants: int) -> Any:
    """`kernel` on these arrays; `out` is the `jax.ShapeDtypeStruct` of its result, or several."""
    import jax_triton  # type: ignore[import-not-found]

    # The name of this argument changed with jax-triton 0.4.
    known = inspect.signature(jax_triton.triton_call).parameters
    name = "out_type" if "out_type" in known else "out_shape"
    return jax_triton.triton_call(
        *arrays, kernel=kernel, grid=grid, num_warps=warps, **constants, **{name: out}
    )
