"""`zitter doctor`: what is here, and whether it computes."""

from __future__ import annotations

import importlib.util
import platform
import time
from importlib import metadata
from typing import Any

import jax
import numpy as np

import zitter
from zitter import checks, runtime
from zitter.cases import memory
from zitter.cli.running import keep_compiled_programs
from zitter.cli.showing import print_json
from zitter.tables import table

OPTIONAL = ("matplotlib", "xarray", "h5netcdf", "jax_triton", "cupy", "numba", "pyscf")


def doctor(as_json: bool) -> int:
    cache = keep_compiled_programs()
    facts: dict[str, Any] = {
        "zitter": zitter.__version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("jax", "jaxlib", "equinox", "numpy", "scipy")},
        "devices": ", ".join(f"{d.platform}:{d.id} {d.device_kind}" for d in jax.devices()),
    }
    limit = memory.available()
    facts["memory"] = runtime.readable(limit) if limit is not None else "unknown"
    present = [name for name in OPTIONAL if importlib.util.find_spec(name) is not None]
    facts["optional packages"] = ", ".join(present) or "none"
    absent = [name for name in OPTIONAL if name not in present]
    facts["not installed"] = ", ".join(absent) or "nothing"
    facts["compiled programs"] = str(cache)
    good = True
    for precision in runtime.PRECISIONS:
        facts[f"{precision} precision"], fine = _self_check(precision)
        good = good and fine
    facts["self-check"] = "passed" if good else "FAILED"
    print(table("zitter doctor", {key: str(value) for key, value in facts.items()}))
    if as_json:
        print_json({"ok": good, **facts})
    return 0 if good else 1


def _self_check(precision: runtime.Precision) -> tuple[str, bool]:
    """The soft-core atom with a = 2, whose ground state lies at −1/2 exactly, kept for a while.

    ψ = (1 + √(x² + 2)) exp(−√(x² + 2)) solves −ψ''/2 − ψ/√(x² + 2) = −ψ/2. The grid and the box
    leave 1e-8; single precision leaves what 40 steps of rounding (6e-8 each) leave of the norm.
    """
    tick = time.perf_counter()
    previous = runtime.settings()
    try:
        runtime.configure(precision)
        grid = zitter.Grid(255, 0.3)
        H = zitter.discretize(
            zitter.Model([zitter.Kinetic(), zitter.SoftCoulomb(Z=1, softening=2.0)]), grid
        )
        ground = zitter.eigenstates(H, 1)
        psi = np.asarray(ground.states[0]).astype(runtime.settings().complex_dtype)
        moved = zitter.evolve(H, psi, (0.0, 2.0), 0.05, zitter.SplitOperator())
    except checks.ZitterError as error:
        return f"failed: {error}", False
    finally:
        runtime.configure(previous.precision)
    error = abs(float(ground.energies[0]) + 0.5)
    loss = abs(float(moved.info["norm_loss"]))
    fine = error < 1e-6 and loss < (1e-11 if precision == "double" else 1e-4)
    seconds = time.perf_counter() - tick
    text = f"energy off by {error:.0e}, norm by {loss:.0e}, {seconds:.1f} s"
    return ("works: " if fine else "WRONG: ") + text, fine
