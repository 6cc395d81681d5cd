"""Whether a calculation fits the device, found out without allocating its arrays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp

from zitter import checks, runtime, solve
from zitter.bases.base import Basis
from zitter.eigensolvers import Eigensolver, recommended
from zitter.hamiltonian import Hamiltonian
from zitter.solve.needs import (
    Needs,
    given_bytes,
    memory_of_records,
    memory_of_run,
    memory_of_solver,
    of_solver,
)


def check_basis(basis: Basis) -> None:
    """Refuse a basis of which not even ψ, its successor and one potential fit."""
    now = runtime.settings()
    made = basis.size * (now.complex_dtype.itemsize + now.real_dtype.itemsize)
    devices = 1 if now.mesh is None else now.mesh.size
    _refuse(given_bytes(basis, now.complex_dtype) + made // devices, "at least ")


def check_plan(
    basis: Basis, plan: solve.Plan, always: bool = False, start: Any = None
) -> int | None:
    """Refuse a run (from `start`, where it is known) whose loop takes more than the device has.

    Compiling only to ask takes time, so unless `always` it is done only for states so large that
    a hundred of them would be too much.
    """
    limit = available()
    if not always and (limit is None or 100 * basis.size * plan.dtype.itemsize < limit):
        return None
    plan = plan if start is None else plan.starting(start)
    needed = memory_of_run(plan)
    many = "evolve.save_states" if plan.context.save_states else "evolve.save_every"
    # Those of the loop are joined with the last ones, and are there twice then.
    _refuse(needed, "about ", many if 4 * memory_of_records(plan) > needed else "basis.shape")
    return needed


def check_solver(H: Hamiltonian, n: int, solver: Eigensolver) -> int | None:
    """Refuse a search for more states than the device has room for; what it takes, where it was
    asked for. Blocks of a few states more than n are there some twenty times."""
    limit = available()
    states = n * H.basis.size * runtime.settings().real_dtype.itemsize
    if limit is None or 400 * states < limit:
        return None
    needed = memory_of_solver(H, n, solver)
    _refuse(needed or 0, "about ", "eigenstates.n" if n > 1 else "basis.shape")
    return needed


def available() -> int | None:
    """Bytes that each device has; simulated ones share their machine's memory."""
    mesh, most = runtime.settings().mesh, runtime.mesh_memory()
    return most if most is None or mesh is None else most // mesh.size


class NoEigenstates:
    """In place of `eigenstates` for a plan that will not be run: states of the right shape. What
    was asked for is known afterwards, since a run will spend time on it."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, int, Any]] = []

    def __call__(self, H: Any, n: int, solver: Any = None) -> Any:
        checks.integer("n", n, 1, H.basis.size)
        runtime.require_memory("n", 8 * n * H.basis.size)
        solver = solver or recommended(H, n)
        solver.check(H, n)
        self.asked.append((H, n, solver))
        dtype = runtime.settings().complex_dtype
        return SimpleNamespace(states=jnp.zeros((n, *H.basis.shape), dtype))

    def needs(self) -> Needs:
        """One search after another; what nobody can tell counts as nothing."""
        found = [of_solver(*asked) for asked in self.asked]
        return Needs(
            max((each.memory or 0 for each in found), default=0),
            sum(each.seconds or 0.0 for each in found),
            sum(each.seconds_to_compile or 0.0 for each in found),
        )


def _refuse(needed: int, degree: str, key: str = "basis.shape") -> None:
    limit = available()
    if limit is not None and needed > limit:
        raise checks.InputError(
            key,
            f"must fit the device's {runtime.readable(limit)}, "
            f"but needs {degree}{runtime.readable(needed)}",
        )
