"""What `evolve` is asked for: judged, and brought to the form in which it runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.bases.base import Basis, check_norm
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported
from zitter.observables.base import Observable
from zitter.propagators.base import Propagator
from zitter.propagators.recommended import recommended as recommended_propagator
from zitter.results import Eigenstates, Solution
from zitter.solve import guards

MOST_APART = 2**30  # steps between records: they are counted in 32 bits


def checked(H, psi0, propagator) -> tuple[Hamiltonian, jax.Array, Propagator]:
    checks.instance("H", H, Hamiltonian)
    psi = _state(psi0, H.basis)
    if psi.shape != H.basis.shape:
        raise checks.InputError(
            "psi0", f"must have the shape of the basis {H.basis.shape}, but has {psi.shape}"
        )
    if not checks.is_traced(psi):
        with jax.ensure_compile_time_eval():  # inside `jax.jit` all of jnp would be traced
            finite, somewhere = bool(jnp.all(jnp.isfinite(psi))), bool(jnp.any(psi))
            if not finite:
                raise checks.InputError("psi0", "must be finite everywhere, but is not")
            if not somewhere:
                raise checks.InputError("psi0", "must not vanish, but is zero everywhere")
            if not checks.is_traced(H.basis):
                check_norm("psi0", H.basis, psi)
    propagator = recommended_propagator(H) if propagator is None else propagator
    return H, psi, checks.instance("propagator", propagator, Propagator)


def _state(psi0: Any, basis: Basis) -> jax.Array:
    """An array; results that hold states say which of them would do."""
    match psi0:
        case Eigenstates():
            fault = "an Eigenstates: take one of its states, such as .states[0]"
        case Solution():
            fault = "a Solution: take its .final"
        case None | str() | dict():
            fault = checks.shown(psi0) if psi0 is not None else "None"
        case _:
            try:
                return runtime.as_state(basis.cut_evenly(runtime.native(psi0)))
            except (TypeError, ValueError):
                fault = checks.shown(psi0)
    raise checks.InputError("psi0", f"must be an array of coefficients, but is {fault}")


def check_observables(observables: Sequence[Observable]) -> None:
    checks.listed("observables", observables, Observable)
    names: set[str] = set()
    for i, o in enumerate(observables):
        if o.name in names:
            raise checks.InputError(
                f"observables.{i}", f"must differ from those before it, but is another {o.name}"
            )
        names.add(o.name)


def divide_states(basis: Any, observables: tuple[Observable, ...]) -> tuple[Observable, ...]:
    """Observables with the states that they hold (`Populations`) where ψ is."""
    shape = basis.whole

    def divide(leaf):
        held = eqx.is_array(leaf) and leaf.shape[leaf.ndim - len(shape) :] == shape
        return basis.divide(leaf) if held else leaf

    return jax.tree.map(divide, observables)


def check_divided(observables: Sequence[Observable], H: Hamiltonian, dtype: Any) -> None:
    """Refuse what cannot be measured on a state that lies on many devices."""
    psi = jax.ShapeDtypeStruct(H.shape, dtype)
    for i, o in enumerate(observables):
        if o.on_host:
            continue
        try:
            eqx.filter_eval_shape(o.evaluate, H, psi, 0.0)
        except Unsupported as error:
            raise checks.InputError(
                f"observables.{i}", f"must suit a state on many devices, but {error}"
            ) from None


def refuse_traced(outside: Sequence[Observable]) -> None:
    for o in outside:
        raise checks.InputError(
            "observables",
            "must all be measured inside the compiled loop when JAX traces the run, "
            f"but {type(o).__name__} has every = {o.every} or needs the host",
        )


def in_loop(observable: Observable) -> bool:
    """Whether it is measured inside the compiled loop, or on visits of the host."""
    return observable.every == 1 and not observable.on_host


def span(t) -> tuple[float, float]:
    if checks.is_traced(t):
        raise checks.InputError(
            "t", "must be numbers known beforehand, but is being traced: differentiate H or psi0"
        )
    if np.ndim(t) != 1 or len(t) != 2:
        raise checks.InputError("t", f"must be a pair (start, end), but is {t!r}")
    first, last = (float(checks.scalar("t", x, "time")) for x in t)
    if not last > first:
        raise checks.InputError("t", f"must end after it starts, but is ({first:g}, {last:g})")
    return first, last


MOST_STEPS = 10**12  # a month of microseconds would be three times as many


def count_steps(span: float, dt: float) -> int:
    wanted = span / dt * (1 - 1e-12)
    if not wanted <= MOST_STEPS:
        raise checks.InputError(
            "dt", f"must give at most {MOST_STEPS:.0e} steps, but {dt:g} gives {wanted:.3g}"
        )
    return max(1, math.ceil(wanted))


def record_interval(save_every: int | None, steps: int) -> int:
    if save_every is None:
        return max(1, steps // 1000)
    save_every = checks.integer("save_every", save_every, 1)
    if save_every < steps:
        return save_every
    if steps <= 2 * guards.LOOKED:
        return steps
    # The ends alone are recorded, perhaps not those of a longer run that goes on with this one: it
    # has to have the same parts to be saved after. Another number only where there were none.
    save_every = min(save_every, MOST_APART)
    if guards.part(save_every) < save_every:
        return save_every
    return guards.LOOKED * math.ceil(save_every / guards.LOOKED)
