"""Precision, device and mesh: chosen explicitly, checked before anything is set."""

# JAX declares its settings at run time.
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

import zitter as zt
from zitter import processes, runtime
from zitter.cases import memory
from zitter.qmc import spread


@pytest.fixture(autouse=True)
def restored():
    yield
    runtime.configure(precision="double")


def in_new_process(code: str, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=900,
        env=os.environ | environment,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_sets_nothing():
    code = """
        import jax, zitter
        zitter.Grid
        print(jax.config.jax_enable_x64, jax.config.jax_default_matmul_precision)
        zitter.Grid(8, 0.1)
        print(jax.config.jax_enable_x64)
    """
    assert in_new_process(code).split() == ["False", "None", "True"]


@pytest.mark.parametrize(
    "precision, products, real, complex_",
    [
        ("double", "highest", np.float64, np.complex128),
        ("single", "highest", np.float32, np.complex64),
        ("tf32", "tensorfloat32", np.float32, np.complex64),
    ],
)
def test_precision(precision, products, real, complex_):
    chosen = zt.configure(precision)
    assert jax.config.jax_default_matmul_precision == products
    assert jax.config.jax_enable_x64  # tables, times and sums stay in double
    assert (chosen.real_dtype, chosen.complex_dtype) == (np.dtype(real), np.dtype(complex_))
    assert runtime.describe()["precision"] == precision


@pytest.mark.parametrize(
    "given, message",
    [
        ({"precision": "half"}, "precision: must be one of"),
        ({"device": "abacus"}, "device: must be one of this machine's devices"),
        ({"device": "cpu:99"}, "device: must have an index below"),
        ({"mesh": {"space": 64}}, "mesh: must not ask for more"),
        (
            {"mesh": {"space": 64}, "device": "cpu"},
            "but asks for 64; its cores become more with 64 processes, or with "
            "JAX_NUM_CPU_DEVICES=64 in the environment",
        ),
        ({"mesh": {"space": 0}}, "mesh.space: must be at least 1"),
        ({"mesh": 4}, "mesh: must be a table, but is 4"),
        ({"mesh": {"planets": 1}}, "mesh: must be one of"),
    ],
)
def test_refusals_change_nothing(given, message):
    zt.configure("single")
    with pytest.raises(zt.InputError, match=message):
        zt.configure(**({"precision": "tf32"} | given))
    assert runtime.settings().precision == "single"
    assert jax.config.jax_default_matmul_precision == "highest"


def test_many_processes_must_divide_something(monkeypatch):
    monkeypatch.setattr(processes, "count", lambda: 2)
    with pytest.raises(zt.InputError, match="mesh: must say what 2 processes divide, but is mis"):
        runtime.make_mesh({"space": 1}, runtime.find_device("cpu"))


def test_twists_that_a_mesh_does_not_divide(monkeypatch):
    """Three along each axis are 27, which is neither what was given nor even."""
    mesh: Any = SimpleNamespace(axis_names=("twists",), shape={"twists": 2}, size=2)
    monkeypatch.setattr(runtime, "_settings", runtime.Settings("double", None, mesh))
    with pytest.raises(zt.InputError) as error:
        spread.check_count(8, 27)
    assert "such as 26 or 28 once laid out, but is 27 of them: a number N stands for a grid of" in (
        str(error.value)
    )


def test_device_by_name():
    assert zt.configure(device="cpu").device.platform == "cpu"


WALKERS = """
    import numpy as np
    import zitter as zt
    from zitter import qmc
    from zitter.qmc.runs import Run
    from zitter.qmc.walk import variational

    def run(mesh):
        zt.configure(mesh=mesh)
        psi = qmc.SlaterJastrow(qmc.ElectronGas(2, 5.0), [qmc.U(order=3)])
        if mesh:
            options = (8, 4, (), 0, None, None, (), None, 30.0, False, False)
            r = variational.first_states(Run.checked(psi, *options)).walkers.r
            assert [s.data.shape[0] for s in r.addressable_shards] == [4, 4], r.sharding
        found = qmc.vmc(psi, walkers=8, blocks=4, equilibration=10, stride=1)
        projected = qmc.dmc(psi, 0.5, walkers=8, blocks=4, equilibration=2)
        return found.traces["energy"], projected.traces["energy"]

    try:
        zt.configure(mesh={"walkers": 2})
        qmc.vmc(qmc.SlaterJastrow(qmc.ElectronGas(2, 5.0), []), walkers=9, blocks=4)
    except zt.InputError as refusal:
        assert "must be a multiple of the mesh's 2 devices, such as 8 or 10" in str(refusal)
    else:
        raise AssertionError("9 walkers on 2 devices")

    for one, two in zip(run(None), run({"walkers": 2})):
        np.testing.assert_allclose(one, two, rtol=1e-9)
    print("same")
"""


def test_pulses_and_cells_are_in_double_precision_without_configure():
    code = """
        import zitter as zt
        pulse = zt.SineSquared(amplitude=1, frequency=1, cycles=2)
        assert pulse.vector_potential(0.3).dtype == "f8"
        assert zt.Harmonic([1.0, 1.3, 1.7]).frequency.dtype == "f8"
    """
    in_new_process(code)
    code = """
        import jax, zitter as zt
        zt.qmc.Cell([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        assert jax.config.jax_enable_x64
    """
    in_new_process(code)


def test_a_mesh_of_one_device_is_none():
    assert zt.configure(mesh={"space": 1, "batch": 1}).mesh is None


@pytest.mark.parametrize(
    ("platform", "hosts", "most"),
    [("cpu", 1, 100), ("cpu", 2, 200), ("gpu", 2, 400)],
)
def test_machines_add_up_their_memory(monkeypatch, platform, hosts, most):
    """Four devices, on one machine or on two, each machine and each GPU with 100 bytes."""
    settings = runtime.Settings(
        "double", SimpleNamespace(platform=platform), SimpleNamespace(size=4), hosts
    )
    monkeypatch.setattr(runtime, "_settings", settings)
    monkeypatch.setattr(runtime, "memory_limit", lambda device=None: 100)
    assert memory.available() == most // 4
    runtime.require_memory("walkers", most)
    with pytest.raises(zt.InputError, match=f"walkers: must fit the device's {most} B"):
        runtime.require_memory("walkers", most + 1)


@pytest.mark.multiprocess
def test_walkers_on_two_devices_are_those_on_one():
    """Arrays are really cut in two; sums in another order differ by rounding."""
    output = in_new_process(
        WALKERS,
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
        NPROC="4",
        JAX_PLATFORMS="cpu",
    )
    assert output.split()[-1] == "same"


def test_free_memory_goes_back_and_other_c_libraries_do_not_matter(monkeypatch):
    called = []
    library = SimpleNamespace(malloc_trim=called.append)
    monkeypatch.setattr(runtime.ctypes, "CDLL", lambda name: library)
    runtime.release_memory()
    assert called == [0]
    monkeypatch.setattr(runtime.ctypes, "CDLL", lambda name: SimpleNamespace())
    runtime.release_memory()
