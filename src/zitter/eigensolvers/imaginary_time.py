"""Imaginary time by explicit updates, as in Liu, Liu and Hou, Procedia Comput. Sci. 171 (2020)."""

from __future__ import annotations

import dataclasses
import math
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.eigensolvers.base import Eigensolver, check_orthonormal
from zitter.eigensolvers.block import (
    block_size,
    floor_of_rounding,
    most_growth,
    normalized,
    not_converged,
    ritz,
    ritz_step,
)
from zitter.eigensolvers.box_waves import first_guess
from zitter.eigensolvers.explicit_updates import Update, advance, advance_compiled
from zitter.eigensolvers.preconditioners import with_given
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported
from zitter.linalg.sums import diagonal_of, without_diagonal
from zitter.rounds import Rounds
from zitter.segments import memory_to_call, shaped

Stop = Literal["residual", "energy"]


class ImaginaryTime(Eigensolver):
    """∂ψ/∂τ = −Hψ, the potential averaged over the step and the kinetic energy T explicit:

        ψ(τ+δτ) = bψ − (2δτ/(2 + δτV)) Tψ,      b = (2 − δτV)/(2 + δτV)

    which with second-order differences is Eq. 10–12 of the paper. It is stable for
    δτ < 2/max T, that is δτ < m a²/3 on a cubic grid with `Kinetic(order=2)`; the default is at
    most half of that. One state starts from a constant, several from the lowest waves of the box
    with noise of every symmetry, and with some states more, so that a degenerate level comes whole.
    After every `check_every` updates, or fewer before several states become alike, the block is
    orthonormalized by the Rayleigh–Ritz method.

    With `shift` V stands for V − E, with the energy of each state at the last check. Without it
    (the paper's update) the iteration comes to rest not at an eigenstate of T + V but of
    T + (1 − δτE/2)V: the energy is wrong only by O(δτ²), but the residual never vanishes.

    `stop="residual"` ends when ‖Hψ − Eψ‖ ≤ tol, which bounds the error; `stop="energy"` is the
    paper's rule, |ΔE| < tol (there 1e-7) from one update to the next, and may end far from the
    answer.
    `coarse_levels` starts on grids of twice, four times … the spacing.
    """

    dtau: float | None = eqx.field(static=True)
    tol: float = eqx.field(static=True)
    stop: Stop = eqx.field(static=True)
    shift: bool = eqx.field(static=True)
    check_every: int = eqx.field(static=True)
    max_updates: int = eqx.field(static=True)
    coarse_levels: int = eqx.field(static=True)

    def __init__(
        self,
        dtau: float | str | None = None,
        tol: float = 1e-5,
        stop: Stop = "residual",
        shift: bool = True,
        check_every: int = 100,
        max_updates: int = 200_000,
        coarse_levels: int = 0,
    ):
        self.dtau = None if dtau is None else float(checks.positive("dtau", dtau, "time"))
        self.tol = float(checks.positive("tol", tol))
        self.stop = checks.choice("stop", stop, ("residual", "energy"))
        self.shift = checks.boolean("shift", shift)
        self.check_every = checks.integer("check_every", check_every, 2)
        if self.check_every % 2:
            raise checks.InputError("check_every", f"must be even, but is {check_every}")
        self.max_updates = checks.integer("max_updates", max_updates, 2)
        self.coarse_levels = checks.integer("coarse_levels", coarse_levels, 0, 6)

    @property
    def divides(self) -> bool:
        return True

    @property
    def keeps_rounds(self) -> bool:
        return True

    def check(self, H, n):
        Eigensolver.check(self, H, n)
        check_orthonormal(self, H)
        if not H.operator.real or without_diagonal(H.operator) is None:
            raise Unsupported(
                "ImaginaryTime needs a real Hamiltonian with a kinetic energy; use LOBPCG or Direct"
            )
        self.step_size(H)

    def few_rounds(self, count):
        few = min(self.check_every, 100)
        updates = min(count * few, self.max_updates)
        return dataclasses.replace(self, check_every=few, max_updates=updates, coarse_levels=0)

    def rounds_grow(self, ratio):
        """The rate is that of the gap, and the step shrinks as h²."""
        return ratio**2 if self.dtau is None else 1.0

    def memory(self, H, n):
        """That of a Rayleigh–Ritz step; updates take less, beside X, HX and the next X."""
        H = H.astype(runtime.settings().real_dtype)
        count = 1 if n == 1 else block_size(n, None, H.basis)
        block = shaped(H.operator.dtype, count, *H.shape)
        shifts = shaped(block.dtype, count)
        one = math.prod(block.shape) * block.dtype.itemsize
        update = eqx.filter_eval_shape(lambda: Update.of(H, 1.0))
        updates = shaped(jnp.int32)
        advancing = memory_to_call(advance_compiled, update, block, shifts, updates)
        return max(advancing + one, memory_to_call(ritz_step, H, block) + 2 * one)

    def step_size(self, H: Hamiltonian) -> float:
        """δτ, checked against the stability limit 2/max T and the depth of the potential."""
        kinetic, potential = without_diagonal(H.operator), diagonal_of(H.operator)
        assert kinetic is not None
        limit = 2 / float(kinetic.bounds()[1])
        if self.dtau is not None and self.dtau >= limit:
            raise checks.InputError(
                "dtau",
                f"must be below the stability limit 2/max T = {limit:.4g} of this grid, "
                f"but is {checks.as_given(self.dtau)}",
            )
        deepest = float(jnp.min(potential))
        if self.dtau is None:
            return min(0.5 * limit, 0.5 / max(-deepest, 1e-300))
        if self.dtau * deepest <= -2:
            raise checks.InputError(
                "dtau",
                f"must be below 2/|V| = {-2 / deepest:.4g} where the potential is deepest "
                f"({deepest:.4g} hartree), but is {checks.as_given(self.dtau)}",
            )
        return self.dtau

    def solve(self, H, n, start=None, rounds=None):
        rounds = Rounds() if rounds is None else rounds
        H = H.astype(runtime.settings().real_dtype)
        count = 1 if n == 1 else block_size(n, None, H.basis)
        block = with_given(first_guess(H, count), start)
        if start is None and self.coarse_levels and min(H.shape) >= 16 and not rounds.goes_on:
            coarse, operator, prolong = H.basis.coarser(H.operator)
            solver = dataclasses.replace(
                self, dtau=None, coarse_levels=self.coarse_levels - 1, stop="residual"
            )
            _, states, _ = solver.solve(Hamiltonian(coarse, operator), n)
            block = with_given(block, prolong(states))
        dtau = self.step_size(H)
        last = None
        with rounds.running():
            for moment in self.course(H, block, dtau, n, rounds):
                last = moment  # of the states only these are kept
        assert last is not None
        residuals = [float(x) for x in rounds.records("residual")]
        energies = [float(x) for x in rounds.records("energy")]
        updates = [int(x) for x in rounds.records("updates")]
        residuals.append(float(np.max(last.residuals[:n])))
        energies.append(float(last.energies[0]))
        updates.append(last.updates)
        info = {
            "solver": "explicit imaginary time",
            "dtau": dtau,
            "updates": last.updates,
            "stop": self.stop,
            "residual_history": residuals,
            "energy_history": energies,
            "update_history": updates,
            "next_energies": last.energies[n:].tolist(),
        }
        return np.asarray(last.energies[:n], np.float64), normalized(H, last.states[:n]), info

    def course(
        self, H: Hamiltonian, block: jax.Array, dtau: float, n: int = 1,
        rounds: Rounds | None = None,
    ):  # fmt: skip
        """Energies and residuals at each Rayleigh–Ritz step, until the first n states `stop`."""
        rounds = Rounds() if rounds is None else rounds
        block = block.astype(H.operator.dtype)
        update = Update.of(H, dtau)
        tol = self.tol
        if self.stop == "residual":
            tol = max(tol, floor_of_rounding(H, block))
        none_yet = np.full(len(block), np.inf)
        taken, (block, *counts, before) = rounds.begin((block, 0, 0, none_yet))
        done, updates = (int(count) for count in counts)
        while True:
            found = ritz(H, block)
            energies, block = found.energies, found.states
            now = Moment(done, np.asarray(energies), np.asarray(found.residuals), block)
            yield now
            if not np.all(np.isfinite(now.energies)):
                raise checks.RunError("the states became infinite or NaN: take a smaller dtau")
            if self.stop == "residual" and np.all(now.residuals[:n] <= tol):
                return
            change = np.inf
            if self.stop == "energy" and taken:
                change = np.max(np.abs(now.energies - np.asarray(before))[:n]) / updates
                if change < tol:
                    return
            if done >= self.max_updates:
                rounds.save()
                raise self._not_converged(change, now.residuals[:n], tol)
            before = now.energies
            shifts = energies if self.shift else jnp.zeros_like(energies)
            bounded = min(_most_updates(now, dtau), update.before_overflow(float(shifts[0])))
            updates = min(self.check_every, bounded, self.max_updates - done)
            updates += updates % 2
            block = advance(update, block, shifts, updates)
            done, taken = done + updates, taken + 1
            record = {
                "residual": np.max(now.residuals[:n]), "energy": now.energies[0],
                "updates": now.updates,
            }  # fmt: skip
            rounds.keep(taken, (block, done, updates, before), **record)

    def _not_converged(self, change: float, residuals: np.ndarray, tol: float) -> checks.RunError:
        if self.stop == "residual":
            return not_converged("ImaginaryTime", "max_updates", self.max_updates, residuals, tol)
        return checks.RunError(
            f"ImaginaryTime stopped at max_updates = {self.max_updates} with the energy changing "
            f"by {change:.1e} hartree per update, above tol = {tol:.1e}: allow more, or take a "
            "larger tol."
        )


@dataclasses.dataclass
class Moment:
    """Where the iteration stands after some updates."""

    updates: int
    energies: np.ndarray
    residuals: np.ndarray
    states: jax.Array


def _most_updates(now: Moment, dtau: float) -> int:
    """The even number of updates after which a block still holds as many states."""
    spread = float(now.energies[-1] - now.energies[0]) * dtau
    growth = most_growth(now.states.dtype, len(now.energies))
    return max(2, 2 * int(growth / max(2 * spread, 1e-6)))
