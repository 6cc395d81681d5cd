"""What a run would take at its peak and in time, from compiled programs and a few of their steps.

Memory is counted by phases: H and what the method prepared are there in all of them, and the
largest phase is the answer.
"""

from __future__ import annotations

import dataclasses
import math
import time
import warnings
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from zitter import runtime, segments
from zitter.bases.base import Basis
from zitter.eigensolvers import Eigensolver, recommended
from zitter.hamiltonian import Hamiltonian
from zitter.observables import Observable
from zitter.solve import accuracy, course, requests, solver_trials, watching
from zitter.solve.evolution import Plan

Search = tuple[Hamiltonian, int, Eigensolver]  # so many states of H, by this solver


@dataclasses.dataclass(frozen=True)
class Needs:
    """Bytes on each device at the peak, and seconds; None where nobody can tell."""

    memory: int | None
    seconds: float | None
    seconds_to_compile: float | None = 0.0


def memory_of_run(plan: Plan) -> int:
    """The first state, the loop, the run with twice the step that checks it, and the result made of
    its records."""
    program = plan.program
    psi = given_bytes(plan.H.basis, plan.dtype)  # who gives it keeps it
    buffers = program.capacity * program.record
    finding = [memory_of_solver(*_levels(plan, o)) or 0 for o in plan.observables if o.levels]
    records = memory_of_records(plan)
    least = program.memory - program.state - program.made - buffers
    beginning = plan.begun[1]
    looping = program.memory + psi + records
    joining = least + psi + program.state + 2 * records
    checking = 0
    if plan.checking is not None:
        recorded, other = plan.checking
        method = plan.context.propagator
        # It may prepare its method for its own step, beside what the run has prepared.
        prepared = 0 if method.any_step else segments.bytes_of(method)
        running = max(beginning, other.memory - other.capacity * other.record + psi)
        again = recorded * other.record if runtime.on_host() else 0
        checking = running + program.state + records + again + prepared
    return max(beginning, looping + max(finding, default=0), checking, joining) + _undivided(plan)


def memory_of_records(plan: Plan) -> int:
    """They wait in the memory of the host."""
    return plan.recorded * plan.program.record + _visited(plan) if runtime.on_host() else 0


def given_bytes(basis: Basis, dtype: Any) -> int:
    """What one state takes on the first device, in the form in which a run is given it: whole
    there, unless the mesh cuts it evenly."""
    place = basis.even_cut
    shape = basis.shape if place is None else place.shard_shape(basis.shape)
    return math.prod(shape) * np.dtype(dtype).itemsize


def _undivided(plan: Plan) -> int:
    """Bytes of H as it was given, on the first device, beside the parts that the run holds; cut as
    those are, they are the same arrays."""
    if plan.context.H is plan.H:
        return 0
    parts = [x for x in jax.tree.leaves(plan.context.H) if isinstance(x, jax.Array)]

    def is_part(array: jax.Array) -> bool:
        return any(
            part.shape == array.shape and part.sharding.is_equivalent_to(array.sharding, part.ndim)
            for part in parts
        )

    given = (x for x in jax.tree.leaves(plan.H) if isinstance(x, jax.Array))
    return segments.bytes_of([array for array in given if not is_part(array)])


def of_run(plan: Plan, psi: jax.Array) -> Needs:
    """All of a run from a state like ψ: half of its steps again where they are checked, and visits
    of the host."""
    tried = plan.tried(psi)
    steps = tried.seconds * plan.steps / (plan.parts * plan.context.part)
    seconds = steps * (1.0 if plan.checking is None else 1.5) + _seconds_of_visits(plan, psi)
    compiling = plan.program.seconds_to_compile
    if plan.checking is not None and plan.checking[1] is not plan.program:
        compiling += plan.checking[1].seconds_to_compile
    return Needs(memory_of_run(plan) + tried.scratch, seconds, compiling)


def written_by_run(plan: Plan, checkpoints: int) -> int:
    """Bytes of the first state, of so many checkpoints and of the result; records are in both."""
    psi = plan.H.basis.size * plan.dtype.itemsize
    records = plan.recorded * plan.program.record + _visited(plan)
    ends = 1 if plan.checking is None else 2  # that of the check is kept beside its own
    state = runtime.device_count() * plan.program.state
    return psi + checkpoints * state + ends * psi + 2 * records


def _seconds_of_visits(plan: Plan, psi: jax.Array) -> float:
    """What observables with a pace of their own take: each is measured twice, the second counts."""
    outside = [o for o in plan.observables if not requests.in_loop(o)]
    total = 0.0
    if outside:
        state = course.begin(plan.context, plan.context.H.basis.divide(psi))
        for o in outside:
            watcher = watching.Watcher(plan.context, plan.H, (o,), state.psi)
            watcher.visit(state, 0)
            tick = time.perf_counter()
            jax.block_until_ready(watcher.visit(state, 0))
            seconds = time.perf_counter() - tick
            if o.levels:  # for a plan that is not run they are not found
                seconds += of_solver(*_levels(plan, o)).seconds or 0.0
            # The check of the step measures twice more, at the end.
            total += seconds * (1 + plan.records // o.every + 2 * (plan.checking is not None))
    return total


def _levels(plan: Plan, observable: Observable) -> Search:
    """The search for eigenstates of H(t) that an observable makes each time."""
    n = observable.levels
    frozen = _without_ends(plan.H).at(plan.context.start)
    return frozen, n, recommended(frozen, n)


def _without_ends(H: Hamiltonian) -> Hamiltonian:
    """H without absorber and mask."""
    return Hamiltonian(H.basis, H.fixed, H.changing, origin=H.origin.then(_without_ends))


def _visited(plan: Plan) -> int:
    """Bytes of what is measured on visits of the host."""
    total = 0
    for o in plan.observables:
        if not requests.in_loop(o):
            size = int(np.prod([len(x) if x is not None else 1 for _, x in o.dims(plan.H)]))
            total += 8 * size * (2 + plan.records // o.every)
    return total


def of_solver(
    H: Hamiltonian,
    n: int,
    solver: Eigensolver,
    checked: bool = False,
    memory: int | None = None,
) -> Needs:
    """`checked`: with the other bases that tell what the basis costs. `memory` of the solver, where
    it is known already."""
    if _is_cut(solver):
        return Needs(None, None)
    memory = memory_of_solver(H, n, solver) if memory is None else memory
    with warnings.catch_warnings():  # the run says what there is to say of its own basis
        warnings.simplefilter("ignore", UserWarning)
        there = solver.on_other_bases
        others = [(h, n, there or recommended(h, n)) for h in accuracy.others(H)] if checked else []
        own = solver_trials.times(H, n, solver)
        more = _times_of_others(others, (H, n, solver), own)
    if memory is not None and others:  # the states that were found stay
        kept = segments.bytes_of(H) + n * given_bytes(H.basis, H.operator.dtype)
        memory = max(memory, kept + max(memory_of_solver(*other) or 0 for other in others))
    if own is None or more is None:
        return Needs(memory, None, None)
    return Needs(memory, own.running + more.running, own.compiling + more.compiling)


def _times_of_others(
    others: Sequence[Search], tried: Search, spent: solver_trials.Times | None
) -> solver_trials.Times | None:
    """By their sizes, from the search that was tried, or the largest of them where the solver is
    another one."""
    if spent is not None and others:
        largest = max(others, key=lambda other: other[0].basis.size)
        if largest[2] != tried[2]:
            tried, spent = largest, solver_trials.times(*largest)
    if spent is None:
        return None
    shares = (_share(other, tried) for other in others)
    return solver_trials.Times(sum(shares) * spent.running, len(others) * spent.compiling)


def _share(other: Search, tried: Search) -> float:
    """How many times the work: of factors, of dense matrices, or of the states of each round."""
    factors = [search[2].factors(search[0]) for search in (other, tried)]
    if factors[0] is not None and factors[1] is not None:
        return factors[0].operations / factors[1].operations
    H, _, solver = tried
    power = 3 if solver.few_rounds(1) is None and not H.basis.finds_states(H.operator) else 1
    return (other[0].basis.size / tried[0].basis.size) ** power


def memory_of_solver(H: Hamiltonian, n: int, solver: Eigensolver) -> int | None:
    return None if _is_cut(solver) else solver.memory(H, n)


def _is_cut(solver: Eigensolver) -> bool:
    """On a mesh rounds are not counted in parts."""
    return runtime.settings().mesh is not None and solver.divides
