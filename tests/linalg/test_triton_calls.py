"""Whether Triton kernels are used, and what jax-triton is asked for."""

from __future__ import annotations

import importlib.util
import sys
import types

import jax
import jax.numpy as jnp
import pytest

from zitter import runtime
from zitter.linalg.kernels import triton_calls


@pytest.mark.parametrize(("platform", "expected"), [("cpu", False), ("gpu", True)])
def test_the_chosen_device_decides(monkeypatch, platform, expected):
    """Not the best device of the machine: `configure(device="cpu")` holds beside a GPU as well."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    device = types.SimpleNamespace(platform=platform)
    monkeypatch.setattr(runtime, "_settings", runtime.Settings("double", device, None))
    assert triton_calls.has_triton() is expected


def test_without_jax_triton(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    device = types.SimpleNamespace(platform="gpu")
    monkeypatch.setattr(runtime, "_settings", runtime.Settings("double", device, None))
    assert not triton_calls.has_triton()


def old_call(*arrays, kernel, out_shape, grid, num_warps, **constants):
    return arrays, kernel, out_shape, grid, num_warps, constants


def new_call(*arrays, kernel, out_type, grid, num_warps, **constants):
    return arrays, kernel, out_type, grid, num_warps, constants


@pytest.mark.parametrize("triton_call", [old_call, new_call])
def test_both_names_of_the_result(monkeypatch, triton_call):
    module = types.SimpleNamespace(triton_call=triton_call)
    monkeypatch.setitem(sys.modules, "jax_triton", module)
    shape = jax.ShapeDtypeStruct((3,), jnp.float64)
    found = triton_calls.call("kernel", 1, 2, out=shape, grid=(4,), warps=8, n=3)
    assert found == ((1, 2), "kernel", shape, (4,), 8, {"n": 3})
