"""What a run with twice the step says of the errors of a run.

    2|X_Δt − X_{rΔt}|/(rᵖ − 1), r ≈ 2, for a method of order p

is Richardson's estimate with a margin, of ψ and of what was measured on it in the end. Steps far
too long may agree in what is wrong with those twice as long: the method's own estimate counts
beside it, and what neither of them has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import runtime
from zitter.hamiltonian import Hamiltonian
from zitter.observables.base import Observable
from zitter.results import STEP_MARGIN, Solution, step_error
from zitter.solve import kinks, requests, rough, unseen

if TYPE_CHECKING:
    from zitter.solve.evolution import Plan


def compare(plan: Plan, solution: Solution, twice: Solution) -> None:
    """Errors into the solution, by the run with twice the step."""
    assert plan.checked_with is not None
    H, steps = plan.context.H, (twice.info["dt"], solution.info["dt"])
    span = float(plan.times[0]), float(plan.times[-1])
    order = plan.checked_with.convergence_order(plan.H)
    order = kinks.reliable_order(order, plan.H, *span, steps)
    share = STEP_MARGIN / ((steps[0] / steps[1]) ** order - 1)
    other, end = map(H.basis.divide, (twice.final, solution.final))
    apart = other - end
    # The method's own estimate is a part of the norm, of which the larger of both ends counts.
    own = float(solution.info.get("error_estimate", 0.0))
    norm = float(H.basis.norm(end))
    largest = max(norm, (norm**2 + max(solution.info["norm_loss"], 0.0)) ** 0.5)
    own_error = own * largest if own > plan.step_limit else 0.0
    error = max(share * float(H.basis.norm(apart)), own_error)
    # But for their phase no two states of a norm are farther apart than that; of those that are
    # off by half of the norm nobody knows how far.
    farthest = 2**0.5 * largest
    if error > 0.5 * largest:
        error = max(error, farthest)
    missed = min(unseen.lost(plan.unseen, H, end) * norm, farthest)
    if missed > error:
        solution.info["unseen"] = missed
    part = max(error, missed) / largest
    solution.info |= {
        "step_error": max(error, missed),
        "step_error_share": share,
        "step_error_part": part,
    }
    solution.twice = runtime.to_host(twice.final)
    last = {
        name: (data[-1], solution.observables[name][-1]) for name, data in twice.observables.items()
    }
    for o in plan.observables:
        # What has a pace of its own is measured once more, at the end, in both.
        if not requests.in_loop(o):
            there = _on_host(plan, (o,), span[1])
            last[o.name] = there(twice.final)[o.name], there(solution.final)[o.name]
    rounding = 1e3 * float(jnp.finfo(end.dtype).eps) * norm
    ways = [apart] if float(H.basis.norm(apart)) > rounding else []
    ways += unseen.directions(plan.unseen, H, end) if missed else []
    is_rough = bool(ways) and (part > plan.step_limit or missed > error)
    # Where the method's own estimate counts nobody knows the way: a part of each number is stated.
    of_all = 0.0 if is_rough and error > own_error else part
    solution.step_errors = {
        name: step_error(a - b, solution.observables[name], share, of_all)
        for name, (a, b) in last.items()
    }
    if is_rough:
        _widen(plan, solution, end, part, ways)


def _widen(
    plan: Plan, solution: Solution, end: jax.Array, part: float, ways: Sequence[jax.Array]
) -> None:
    """Of a state that is far off, what two runs have alike may be wrong in both."""
    H, t = plan.context.H, float(plan.times[-1])
    norm = H.basis.norm(end)
    ways = [way * (norm / H.basis.norm(way)) for way in ways]

    def inside(psi: jax.Array) -> dict[str, Any]:
        found = _measured(plan.context.observables, H, psi, t)
        return {name: H.basis.join(value) for name, value in found.items()}

    outside = _on_host(plan, [o for o in plan.observables if not requests.in_loop(o)], t)

    def both(psi: jax.Array) -> dict[str, Any]:
        return inside(psi) | outside(H.basis.join(psi))

    kept = H.hermitian and H.mask is None
    wider = rough.changes(both, end, part, ways, H.basis.norm, kept)
    for o in plan.observables:
        wide = wider[o.name]
        if o.of_probability:
            p = np.real(solution.observables[o.name][-1])
            wide = np.maximum(wide, rough.of_probability(p, part, float(norm)))
        solution.step_errors[o.name] = np.maximum(solution.step_errors[o.name], wide)


@eqx.filter_jit
def _measured(
    observables: Sequence[Observable], H: Hamiltonian, psi: jax.Array, t: Any
) -> dict[str, Any]:
    return {o.name: o.evaluate(H, psi, t) for o in observables}


def _on_host(
    plan: Plan, observables: Sequence[Observable], t: float
) -> Callable[[Any], dict[str, Any]]:
    basis = plan.H.basis

    def measured(psi: Any) -> dict[str, Any]:
        psi = jnp.asarray(basis.cut_evenly(psi))
        return {o.name: np.asarray(o.evaluate(plan.H, psi, t)) for o in observables}

    return measured
