"""How long an eigensolver takes, from a few of its rounds and from their number on a coarser grid.

Every call into compiled code is short here, so that a dry run can be stopped between them.
"""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from typing import Any, NamedTuple

import jax
import numpy as np
import scipy.linalg

from zitter import checks
from zitter.eigensolvers import Eigensolver
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported
from zitter.rounds import Rounds
from zitter.terms import discretize

PILOT = 8_000  # unknowns of the problem that tells the number of rounds
TIMED = 250_000  # the most unknowns with which a round is timed
NUMBERS = 1_000_000  # of all states together while it is timed
MOST_STATES = 50  # beyond, rounds are long also on the coarser grid: their products grow as n²
MOST_ROUNDS = 300
FEW_ROUNDS = 10
WORTH_COUNTING = 2.0  # times more rounds than on the coarser grid
PATIENCE = 5.0  # seconds for the rounds on the coarser grid, after the first
DENSE_PILOT = 400
OPERATIONS, FACTORIZED = 3e9, 2_000  # of a factorization that is tried, and its unknowns
SHORT = 1.0  # seconds of a trial that is repeated
BY_CHANNELS = 1_000_000  # numbers of all states that are found for a trial, in a second or two


class Times(NamedTuple):
    """Seconds of a search, and those that its first round spends on compilation."""

    running: float
    compiling: float


def times(H: Hamiltonian, n: int, solver: Eigensolver) -> Times | None:
    """Rounds as many as a coarser grid takes, each as long as here or on a grid of `TIMED`; None
    where a trial is not possible, or would take long itself."""
    if solver.few_rounds(1) is None:
        if solver.factors(H) is not None:
            return _with_factors(H, n, solver) if n <= MOST_STATES else None
        if H.basis.finds_states(H.operator):  # channel by channel
            few = n * H.basis.size <= BY_CHANNELS
            return Times(_alone(solver, H, n), 0.0) if few else None
        dense = solver.memory(H, n) is not None
        return Times(_seconds_of_lapack(H.basis.size), 0.0) if dense else None
    if n > MOST_STATES:
        return None
    try:
        there, ratio = _coarser(H, min(TIMED, max(NUMBERS // n, PILOT)))
        first = _few(solver, there, n, 1)  # compiles
        one, more = _few(solver, there, n, 1), _few(solver, there, n, 3)
        # Compiling for one more grid takes longer than rounds that are a little longer.
        pilot = (there, ratio) if there.basis.size <= 4 * PILOT else _coarser(H, PILOT)
        rounds = _rounds_of_pilot(*pilot, n, solver)
        if rounds is None and pilot[0] is not there:
            rounds = _rounds_of_pilot(there, ratio, n, solver, few=0)
    except (checks.InputError, Unsupported):
        return None
    if rounds is None:
        return None
    share = H.basis.size / there.basis.size
    running = share * (one + max(more - one, 0.0) / 2 * max(rounds - 1, 0))
    return Times(running, max(first - one, 0.0))


def _with_factors(H: Hamiltonian, n: int, solver: Eigensolver) -> Times | None:
    """As on a coarser grid: one factorization, and solutions with its factors."""
    try:
        there, size = H, PILOT
        while (coarse := solver.factors(there)) and size > n:
            if coarse.operations <= OPERATIONS and there.basis.size <= FACTORIZED:
                break
            there, size = _coarser(H, size)[0], size // 2
        here = solver.factors(H)
        if here is None or coarse is None or 4 * n > there.basis.size:
            return None
        whole = _alone(solver, there, n)
        if whole < SHORT:  # what only the first call does is no part of it
            whole = _alone(solver, there, n)
        tick = time.perf_counter()
        solver.factorize(there)
        factorizing = min(whole, time.perf_counter() - tick)
    # On a coarser grid the energy may be an eigenvalue, or the search end without one.
    except (checks.InputError, Unsupported, checks.RunError, RuntimeError, np.linalg.LinAlgError):
        return None
    more = here.operations / coarse.operations, here.numbers / coarse.numbers
    return Times(more[0] * factorizing + more[1] * (whole - factorizing), 0.0)


def _alone(solver: Eigensolver, H: Hamiltonian, n: int) -> float:
    tick = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jax.block_until_ready(solver.solve(H, n)[1])
    return time.perf_counter() - tick


def _coarser(H: Hamiltonian, size: int) -> tuple[Hamiltonian, float]:
    """(H with about so many unknowns or fewer, the ratio of the spacings)."""
    ratio = (H.basis.size / size) ** (1 / len(H.shape))
    if ratio <= 1.0:
        return H, 1.0
    if H.model is None:
        raise Unsupported("another spacing needs the model that H was made of")
    return H.origin.remade(discretize(H.model, H.basis.rescaled(ratio))), ratio


def _few(solver: Eigensolver, H: Hamiltonian, n: int, count: int) -> float:
    """Seconds of a few rounds; that they do not converge is no fault."""
    few = solver.few_rounds(count)
    assert few is not None
    tick = time.perf_counter()
    with contextlib.suppress(checks.RunError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jax.block_until_ready(few.solve(H, n)[1])
    return time.perf_counter() - tick


def _rounds_of_pilot(
    small: Hamiltonian, ratio: float, n: int, solver: Eigensolver, few: int = FEW_ROUNDS
) -> float | None:
    """Rounds on a coarser grid in the same box, and what the finer one adds to them; None where
    they are too many, or so few that what is added would be a guess."""
    limited = solver.few_rounds(MOST_ROUNDS)
    assert limited is not None
    given: Any = {"rounds": _Patient(PATIENCE)} if limited.keeps_rounds else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, _, info = limited.solve(small, n, **given)
    except checks.RunError:
        return None
    rounds, growth = len(info["residual_history"]), solver.rounds_grow(ratio)
    return None if rounds < few and growth > WORTH_COUNTING else rounds * growth


class _Patient(Rounds):
    """Rounds that are given up when they have taken so many seconds, not counting the first, which
    compiles."""

    def __init__(self, seconds: float):
        super().__init__()
        self.seconds, self.until = seconds, math.inf

    def keep(self, done: int, state: Any, **record: Any) -> None:
        super().keep(done, state, **record)
        now = time.perf_counter()
        if now > self.until:
            raise checks.RunError(f"{done} rounds took too long")
        self.until = min(self.until, now + self.seconds)


def _seconds_of_lapack(size: int) -> float:
    """Dense diagonalization costs N³."""
    pilot = min(size, DENSE_PILOT)
    matrix = np.random.default_rng(0).standard_normal((pilot, pilot))
    matrix += matrix.T
    seconds = []
    for _ in range(4):  # the first one loads; beside other programs one in two takes far longer
        tick = time.perf_counter()
        scipy.linalg.eigh(matrix, subset_by_index=(0, 0))
        seconds.append(time.perf_counter() - tick)
    return min(seconds) * (size / pilot) ** 3
