"""`eigenstates`: stationary states with what is known of their errors."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from zitter import checks, runtime, same_run
from zitter.bases.base import Basis
from zitter.bases.edges import ConvergenceWarning
from zitter.checkpoints import Checkpoint
from zitter.eigensolvers import Eigensolver, recommended
from zitter.eigensolvers.base import residual_norms
from zitter.eigensolvers.errors import algebraic_errors, warn_of_small_box
from zitter.hamiltonian import Hamiltonian
from zitter.keywords import caller
from zitter.linalg.base import cast_reals
from zitter.results import Eigenstates
from zitter.rounds import Rounds
from zitter.solve.accuracy import EnergyErrors, checked_basis, compared
from zitter.solve.left_out import left_out
from zitter.stored import Kept
from zitter.terms import Model, discretize, model_guards

WORTH_A_NOTE = 1e-10  # hartree that images in a periodic box may shift an energy by
REPEATED = (
    "a periodic box repeats what it holds, as a crystal does; energies of a single system are off "
    "by about {:.1e} hartree at most, which no error counts"
)
DIRECTLY = 3  # calls from a line outside the package to `caller`, with the one that checks keywords


def eigenstates(
    H: Hamiltonian,
    n: int = 1,
    solver: Eigensolver | None = None,
    *,
    basis_check: bool = False,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 30.0,
    resume: bool = False,
) -> Eigenstates:
    """The lowest `n` stationary states of a Hamiltonian that does not change with time.

    `basis_check` solves again on poorer bases (a grid's spacing, the splines of an atom, …), at
    about the same cost, and puts what they tell of the error of each energy into
    `info["basis_errors"]`. A basis that is far too poor is compared with richer ones, at more.
    Iterative solvers keep their state in the folder `checkpoint` every so many seconds, and go on
    from there with `resume`; direct ones begin anew.
    """
    checks.instance("H", H, Hamiltonian)
    n = checks.integer("n", n, 1, H.basis.size)
    model_guards.warn_without_motion(H.model)
    solver = recommended(H, n) if solver is None else solver
    checks.instance("solver", solver, Eigensolver)
    solver.check(H, n)
    started = time.perf_counter()
    unused = mesh_unused(solver)
    # Called by a program, and not on the way to something else that may use the mesh.
    if unused and caller() <= DIRECTLY:
        warn_of_unused_mesh(unused)
    spread = H.divided() if solver.divides else H
    every = float(checks.non_negative("checkpoint_every", checkpoint_every))
    folder = None if checkpoint is None else checks.path("checkpoint", checkpoint)
    resume = checks.boolean("resume", resume)
    if folder is None or solver.keeps_rounds:  # direct ones have left none
        checks.resume(resume, folder)
    if folder is None or not solver.keeps_rounds:
        energies, states, info = solver.solve(spread, n)
    else:
        keeper = Checkpoint(folder, every, _mark(H, n, solver))
        given: Any = {"rounds": Rounds(keeper, resume)}
        energies, states, info = solver.solve(spread, n, **given)
        del given  # the last round is there, with all of its vectors, as long as its keeper is
    residuals = residual_norms(spread, energies, states)
    states = spread.basis.join(states)
    if not np.iscomplexobj(energies):  # decaying states have residuals, but no bounds
        bounds = algebraic_errors(H, energies, residuals, info.get("next_energies", ()))
        info = info | {"error_bounds": [float(b) for b in bounds]}
    walls = H.basis.box_errors(H.operator, energies, states)
    if walls is not None:
        info |= {"box_errors": walls[0].tolist(), "boundary_densities": walls[1].tolist()}
        warn_of_small_box(*walls)
    images = H.basis.image_errors(H.operator, energies, states)
    if images is not None and images.max() > WORTH_A_NOTE:
        info |= {"box_check": f"none: {REPEATED.format(images.max())}"}
    states = cast_reals(states, runtime.settings().real_dtype)  # found in double, kept as asked
    info = info | {"seconds": time.perf_counter() - started} | runtime.describe()
    info |= runtime.describe_shares(spread.basis.shares)
    info |= {"mesh_unused": unused} if unused else {}
    found = Eigenstates(
        np.asarray(energies), states, residuals, info, H.basis.axes(), kept=Kept.of(H)
    )
    if checks.boolean("basis_check", basis_check):
        found.info |= checked_basis(H, found, eigenstates, solver)
        missing = left_out(H, found)
        if missing:
            found.info["left_out"] = missing
            warnings.warn(missing, ConvergenceWarning, stacklevel=caller())
    return found


def energy_errors(
    model: Model, grid: Basis, eig: Eigenstates, solver: Eigensolver | None = None
) -> EnergyErrors:
    """Solve again on poorer bases and compare.

    Of a grid these are two in the same box, with 1.15 and with 4/3 of the spacing: errors that
    oscillate with it seldom vanish in both. Where a coarser grid would not resolve a nucleus, one
    with 3/4 of the spacing takes its place. The error is the change divided by rᵖ − 1, with the
    ratio r of the spacings and the order p of the kinetic energy (1 where a pole is sampled as it
    is); of that and the change itself the larger is taken. Since the change of one level may vanish
    by chance, no state is trusted beyond half of the largest.
    Of splines the number, and of states that decay also rmax, lmax and the angle of the contour
    are varied, and the changes are added. Where these cannot be poorer, or say more than 0.1 % of
    an energy, richer ones are tried as well. What integrals over more points change is added.
    Where a potential of the user's own jumps between two points of a grid, the edge may be off by
    half a spacing: what that shifts a level by is added.
    """
    checks.instance("model", model, Model)
    checks.instance("grid", grid, Basis)
    checks.instance("eig", eig, Eigenstates)
    if solver is not None:
        checks.instance("solver", solver, Eigensolver)
    return compared(discretize(model, grid), eig, eigenstates, solver)


def mesh_unused(solver: Eigensolver) -> str:
    """The reason where a solver takes one device of the mesh, "" where it uses all or has none."""
    mesh = runtime.settings().mesh
    if mesh is None or solver.divides:
        return ""
    asked = ", ".join(f"{axis} = {size}" for axis, size in mesh.shape.items())
    return f"{type(solver).__name__} works on one device of the mesh {asked}"


def warn_of_unused_mesh(reason: str) -> None:
    warnings.warn(
        f"{reason}, and the other devices idle: leave the mesh out, or take a solver that it "
        "divides",
        stacklevel=caller(),
    )


def _mark(H: Hamiltonian, n: int, solver: Eigensolver) -> str:
    """A solver that may go farther is the same run."""
    method = same_run.regardless(solver, "max_iterations", "max_updates")
    return same_run.fingerprint(H, n, method)
