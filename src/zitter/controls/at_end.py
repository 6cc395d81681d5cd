"""What a run under a pulse comes to, as one number: an objective for `control`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.bases.base import Basis
from zitter.fields import Field
from zitter.hamiltonian import Hamiltonian
from zitter.keywords import caller
from zitter.observables import Observable
from zitter.observables.base import ready
from zitter.propagators import Propagator
from zitter.propagators.recommended import recommended
from zitter.results import STEP_MARGIN, Solution
from zitter.solve import eigenstates, evolve, kinks
from zitter.terms import Model, discretize

ONE_RECORD = 10**9  # steps between records: nothing is wanted but the end


class AtEnd:
    """pulse ↦ what ψ is worth when the pulse is over, having begun as `start`.

        atom = [zt.Kinetic(), zt.Coulomb(Z=1)]
        objective = zt.AtEnd(
            lambda pulse: zt.Model([*atom, zt.LengthGauge(pulse)]), basis, start, target, dt=0.1
        )
        zt.control(objective, pulse)

    `model` makes the model for a pulse. `target` is a state, whose population |⟨target|ψ⟩|² counts;
    several states in front, whose populations are added; an observable that gives one number; or a
    function of ψ in `jax.numpy`. The run takes `dt` and `propagator` as `zt.evolve` does. It lasts
    as long as the pulse, or until `end`, which has to be given where delays or lengths are varied.
    """

    def __init__(
        self,
        model: Callable[[Field], Model],
        basis: Basis,
        start: Any,
        target: Any,
        *,
        dt: float | str,
        propagator: Propagator | None = None,
        end: float | str | None = None,
    ):
        if not callable(model):
            raise checks.InputError(
                "model", "must be a function that makes a Model of a pulse, but is "
                f"{checks.shown(model)}"
            )  # fmt: skip
        self.model, self.basis = model, checks.instance("basis", basis, Basis)
        self.start = runtime.as_state(basis.checked(start))
        self.target: Any = _target(basis, target)
        self.dt = float(checks.positive("dt", dt, "time"))
        self.propagator = propagator
        self.end = None if end is None else float(checks.positive("end", end, "time"))

    def __call__(self, pulse: Field) -> jax.Array:
        """The number, for pulses that may be traced."""
        return self._worth(pulse, self.dt)

    def solution(self, pulse: Field, **options: Any) -> Solution:
        """The whole run; `options` are those of `zt.evolve`."""
        return self._run(self._hamiltonian(pulse), pulse, self.dt, **options)

    def step_error(self, pulse: Field) -> float:
        """What the number is off by the step: by a run with twice the step, with a margin."""
        H = self._hamiltonian(pulse)
        method = self.propagator or recommended(H)
        end = self._end(pulse)
        steps = tuple(end / max(1, round(end / dt)) for dt in (2 * self.dt, self.dt))
        order = kinks.reliable_order(method.convergence_order(H), H, 0.0, end, steps)
        change = float(self._worth(pulse, 2 * self.dt)) - float(self._worth(pulse, self.dt))
        return STEP_MARGIN * abs(change) / (2**order - 1)

    def parts(self, pulse: Field) -> tuple[Any, ...]:
        """What makes the number for a pulse; of a function its name alone."""
        target = self.target
        if callable(target) and not isinstance(target, Observable):
            target = getattr(target, "__qualname__", type(target).__name__)
        made = self._hamiltonian(pulse), self.basis, self.start
        return *made, target, self.dt, self.propagator, self.end

    def _hamiltonian(self, pulse: Field) -> Hamiltonian:
        return discretize(checks.instance("model", self.model(pulse), Model), self.basis)

    def _worth(self, pulse: Field, dt: float) -> jax.Array:
        H, target = self._hamiltonian(pulse), self.target
        if isinstance(target, Observable):
            target = ready("target", target, H, eigenstates)
        psi = self._run(H, pulse, dt, save_every=ONE_RECORD).final
        if isinstance(target, Observable):
            value = target.evaluate(H, psi, self._end(pulse))
            if np.size(value) != 1:
                raise checks.InputError(
                    "target",
                    f"must give one number, but {target.name} gives {np.size(value)}; take a "
                    "function of ψ",
                )
            return jnp.reshape(value, ())
        if callable(target):
            function: Any = target
            return function(psi)
        amplitudes = [self.basis.inner(state, psi) for state in target]
        return jnp.sum(jnp.abs(jnp.stack(amplitudes)) ** 2)

    def _run(self, H: Hamiltonian, pulse: Field, dt: float, **options: Any) -> Solution:
        return evolve(H, self.start, (0.0, self._end(pulse)), dt, self.propagator, **options)

    def _end(self, pulse: Field) -> float:
        """Of the run, whose length cannot depend on what is optimized."""
        traced = checks.is_traced(pulse.duration)
        if self.end is None and traced:
            raise checks.InputError(
                "pulse", "must keep its duration, as the length of a run cannot be optimized; or "
                "give AtEnd an end, by which the pulse is over"
            )  # fmt: skip
        if self.end is None:
            return float(pulse.duration)
        if not traced and float(pulse.duration) > self.end:
            warnings.warn(
                f"the pulse lasts until {float(pulse.duration):g}, but the run ends at "
                f"{self.end:g}: take a later end, or bounds on what moves the pulse",
                stacklevel=caller(),
            )
        return self.end


def _target(basis: Basis, target: Any) -> Any:
    if isinstance(target, Observable) and target.on_host:
        kind = type(target).__name__
        raise checks.InputError(
            "target", f"must have a derivative, but {kind} is found on the host and has none"
        )
    if isinstance(target, Observable) or callable(target):
        return target
    try:
        states = jnp.asarray(target)
    except (TypeError, ValueError):
        raise checks.InputError(
            "target",
            f"must be a state, an observable or a function of ψ, but is {checks.shown(target)}",
        ) from None
    states = states[None] if states.shape == basis.shape else states
    if states.shape[1:] != basis.shape:
        raise checks.InputError(
            "target", f"must have the shape of the basis {basis.shape}, but has {states.shape}"
        )
    return states
