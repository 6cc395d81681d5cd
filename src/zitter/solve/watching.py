"""The host's part of a run: what it looks at on its way, and what it tells in the end."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from zitter import runtime
from zitter.solve import course
from zitter.solve.course import Context, State


class Watcher:
    """The host's part of a run: guards, and observables that are not due at each record."""

    def __init__(self, context, H, observables, psi):
        self.context = context
        self.H = H  # undivided, for what is measured on the host
        self.observables = observables
        self.interval = math.gcd(*(o.every for o in observables)) if observables else None
        self.norm = float(context.H.basis.norm(psi))
        self.judged = 0  # the last step that was

    def guard(self, state: State, done: int) -> str | None:
        norm = float(self.context.H.basis.norm(state.psi))
        problem = course.problem(self.context, state, self.norm, norm, self.judged)
        self.judged = int(state.steps)
        return problem

    def time(self, state: State) -> float:
        return float(self.context.start + state.steps * self.context.dt)

    def visit(self, state: State, done: int) -> dict[str, Any]:
        t = self.time(state)
        seen: dict[str, Any] = {}
        for o in self.observables:
            if done % o.every == 0:
                if o.on_host:
                    psi = self.H.basis.cut_evenly(self.context.H.basis.join(state.psi))
                    value = o.evaluate(self.H, jnp.asarray(psi), t)
                else:
                    value = course.measure_compiled(self.context, (o,), state)[o.name]
                seen |= {o.name: value, f"time_{o.name}": t}
        return seen

    def to_the_end(
        self, visits: dict[str, np.ndarray], end: State
    ) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """(times, values) of each observable, the last ones at the end of the run."""
        t, found = self.time(end), {}
        last = None
        for o in self.observables:
            times, values = visits[f"time_{o.name}"], visits[o.name]
            if times[-1] != t:
                last = last or self.visit(end, 0)
                times = np.append(times, t)
                values = np.concatenate([values, runtime.to_host(last[o.name])[None]])
            found[o.name] = times, values
        return found


def facts(
    context: Context, state: State, steps: int, norms: tuple[float, float], seconds: float
) -> dict[str, Any]:
    report = context.propagator.report(state.memory)
    return {
        "propagator": type(context.propagator).__name__,
        "steps": steps,
        "dt": float(context.dt),
        "norm_loss": norms[0] ** 2 - norms[1] ** 2,
        **({} if state.absorbed is None else {"absorbed": float(state.absorbed)}),
        **{
            key: v if isinstance(v, int) else float(v) for key, v in report.items() if v is not None
        },
        "seconds": seconds,
        **runtime.describe(state.psi.dtype),
        **runtime.describe_shares(context.propagator.shares(context.H)),
    }
