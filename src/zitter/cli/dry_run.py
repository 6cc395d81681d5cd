"""`zitter run --dry-run`: what would run, how much memory and about how long it takes."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from zitter import runtime, solve
from zitter.cli import memory
from zitter.cli.running import stationary
from zitter.cli.showing import print_json, table
from zitter.config.case import Case
from zitter.hamiltonian import Hamiltonian


def describe(case: Case, H: Hamiltonian, plan: solve.Plan | None, as_json: bool) -> int:
    facts: dict[str, Any] = {
        "case": case.document.name,
        "verb": case.verb,
        "basis": f"{type(case.basis).__name__} {'×'.join(map(str, case.basis.shape))}",
        "unknowns": case.basis.size,
        "terms": ", ".join(type(term).__name__ for term in case.model.terms),
        **{name: field.describe() for name, field in case.fields.items()},
    }
    if plan is not None:
        context = plan.context
        needed = plan.memory()
        compiling, running = plan.seconds(_any_state(H, plan))
        facts |= {
            "propagator": type(context.propagator).__name__,
            "steps": plan.steps,
            "dt": float(context.dt),
            "records": len(plan.times),
            "observables": ", ".join(o.name for o in plan.observables),
            "memory_bytes": needed,
            "seconds_to_compile": compiling,
            "seconds_to_run": running * plan.steps / (plan.records * context.save_every),
        }
    else:
        _, solver = stationary(case, H)
        facts["states"] = case.options.get("n", 1)
        facts["solver"] = type(solver).__name__
    facts |= {"device_bytes": memory.available(), **runtime.describe()}
    print(table(f"{case.title or case.document.name}: dry run, nothing is written", _shown(facts)))
    if as_json:
        print_json(facts)
    return 0


def _any_state(H: Hamiltonian, plan: solve.Plan) -> Any:
    """A smooth state: its values do not matter for the time a step takes."""
    index = [jnp.linspace(-3.0, 3.0, n) for n in H.basis.shape]
    grids = jnp.meshgrid(*index, indexing="ij", sparse=True)
    psi = math.prod((jnp.exp(-(x**2)) for x in grids), start=jnp.ones(()))
    return H.basis.normalize(psi.astype(plan.dtype))


def _shown(facts: dict[str, Any]) -> dict[str, str]:
    shown = {}
    for key, value in facts.items():
        if value in ("", None):
            continue
        label = key.replace("_bytes", "").replace("_", " ").replace("seconds", "time")
        if key.endswith("_bytes"):
            shown["the device has" if key == "device_bytes" else f"{label} needed"] = (
                memory.readable(value)
            )
        elif key.startswith("seconds"):
            shown[label] = f"about {value:.2g} s"
        else:
            shown[label] = f"{value:.6g}" if isinstance(value, float) else str(value)
    return shown
