"""The chkfiles of tests/data, and PySCF's numbers for them (tests/data/make_chkfiles.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter.qmc.statistics import reblock

FOLDER = Path(__file__).parents[1] / "data" / "orbitals"
NUMBERS = json.loads((FOLDER / "energies.json").read_text(encoding="utf-8"))


def chkfile(name: str) -> Path:
    return FOLDER / f"{name}.chk"


def against_samples(psi: Any, name: str, positions: Any = None) -> tuple[Any, Any]:
    """How far ln|Ψ| (relative to the first place) and its kinetic energy are from PySCF's."""
    samples = {key: np.asarray(x) for key, x in NUMBERS[name]["samples"].items()}
    r = jnp.asarray(np.swapaxes(samples["positions"] if positions is None else positions, 1, 2))

    def at(r: Any) -> tuple[Any, Any]:
        walker = psi.start(r)
        return walker.log, -0.5 * jnp.real(psi.derivatives(walker).laplacian)

    logs, kinetic = jax.jit(jax.vmap(at))(r)
    scale = 1 + np.abs(samples["kinetic"])
    return logs - logs[0] - samples["log"], (kinetic - samples["kinetic"]) / scale


def parts_of(out: Any) -> dict[str, tuple[float, float]]:
    """Energy of a run by the parts that PySCF knows, each with its error."""
    kept = slice(out.start, None)
    traces = {name: out.traces[name][kept] for name in ("energy", "kinetic")}
    ecp = [trace[kept] for name, trace in out.traces.items() if name.startswith("pseudopotential")]
    if ecp:
        traces["ecp"] = np.sum(ecp, axis=0)
    found = {name: reblock(trace, out.weights[kept]) for name, trace in traces.items()}
    return {name: (estimate.mean, estimate.error) for name, estimate in found.items()}


def agrees(out: Any, numbers: dict[str, Any]) -> bool:
    """Whether energy, kinetic energy and that of the pseudopotentials are PySCF's, within 3σ."""
    return all(
        abs(mean - numbers[name]) < 3 * error for name, (mean, error) in parts_of(out).items()
    )
