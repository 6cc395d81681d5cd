"""`control`: the parameters of a pulse that make something as large as possible.

The gradient goes backwards through the whole run (`solve.remembering`); what is done with it is
L-BFGS-B of SciPy (Byrd, Lu, Nocedal and Zhu, SIAM J. Sci. Comput. 16, 1190 (1995)). A checkpoint
keeps every evaluation: a run that goes on asks for the same points again, is given what was found,
and so comes to the same numbers.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize

from zitter import checks, loop, processes, runtime, same_run
from zitter.controls.at_end import AtEnd
from zitter.controls.parameters import Parameters, chosen
from zitter.fields import Field
from zitter.fields.fluence import fluence as fluence_of
from zitter.results.controlled import Controlled, Course
from zitter.rounds import Rounds
from zitter.stored import Kept

REMEMBERED = 20  # gradients that L-BFGS-B makes its model of
FLAT = 1e-14  # of the value: a slope that is none
LOST = (
    "not converged: nothing better was found along the gradient; at a maximum that is rounding, "
    "elsewhere the gradient is not that of the objective"
)
SAME = 1e-9  # of the value at the start: what another device or other compiled programs change


def control(
    objective: Callable[[Field], Any],
    pulse: Field,
    *,
    parameters: Sequence[str] | None = None,
    fluence: float | None = None,
    bounds: Mapping[str, Sequence[float]] | None = None,
    goal: float | None = None,
    iterations: int = 100,
    tol: float = 1e-9,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 30.0,
    resume: bool = False,
    progress: bool = False,
) -> Controlled:
    """The pulse for which `objective` is as large as can be, from the one given on.

    `objective` takes a pulse and gives one number: `zt.AtEnd`, or a function of your own with
    `discretize`, `evolve` and `jax.numpy`, which is differentiated through.
    `parameters` are what is varied, by the way to them in the pulse; a `FreeForm` offers its
    coefficients, and with them its band holds. `fluence` is the largest ∫|E|² dt (in atomic units,
    1.698 J/cm² each): pulses beyond are scaled down to it. `bounds` are for single parameters:
    `{"carrier.amplitude": (0.0, 0.1)}`.
    It ends at the `goal`, after so many `iterations`, or where an iteration gains no more than
    `tol` of the objective (of its size there or at the start, whichever is larger).
    The best pulse that was seen is what comes back, so it is never worse than the one given.
    Every evaluation is kept in the folder `checkpoint`; with `resume` it goes on from there, to the
    same numbers. `progress` prints a line for each iteration.
    """
    if not callable(objective):
        raise checks.InputError(
            "objective", f"must be a function of a pulse, but is {checks.shown(objective)}"
        )
    varied = chosen(pulse, parameters, fluence)
    box = varied.box(bounds)
    goal = math.inf if goal is None else float(checks.scalar("goal", goal))
    iterations = checks.integer("iterations", iterations, 1)
    tol = float(checks.non_negative("tol", tol))
    every = float(checks.non_negative("checkpoint_every", checkpoint_every))
    rounds, goes_on = Rounds(), checks.resume(resume, checkpoint)
    if checkpoint is not None:
        mark = same_run.fingerprint(
            pulse, varied.names, varied.limit, box, _marks(objective, pulse)
        )
        kept = loop.Checkpoint(Path(checkpoint), every, mark)
        rounds = Rounds(kept, goes_on)
    started = time.perf_counter()
    with rounds.running():
        search = _Search(objective, varied, rounds, goal, tol, bool(progress))
        verdict = search.run(box, iterations)
        rounds.save()
    best = varied.pulse_of(search.best_vector)
    info: dict[str, Any] = {
        "verdict": verdict,
        "iterations": len(search.course.values) - 1,
        "evaluations": search.count,
        "parameters": int(varied.start.size),
        "fluence": float(fluence_of(best)),
        **({} if varied.limit is None else {"fluence_limit": varied.limit}),
        "duration": float(best.duration),
        # Once more without a derivative, with all that a run warns of.
        "value_again": float(objective(best)),
    }
    if isinstance(objective, AtEnd):
        info["step_error"] = objective.step_error(best)
    info |= {"seconds": time.perf_counter() - started, **runtime.describe()}
    given = varied.pulse_of(varied.start)
    return Controlled(search.course, info, kept=Kept({"pulse": best, "start": given}))


class _Enough(Exception):
    """Ends the search; says why."""


class _Search:
    """Evaluations in the order in which they are asked for, and the course of iterations."""

    def __init__(
        self,
        objective: Callable[[Field], Any],
        varied: Parameters,
        rounds: Rounds,
        goal: float,
        tol: float,
        progress: bool,
    ):
        self.varied, self.rounds, self.progress = varied, rounds, progress
        self.goal, self.tol = goal, tol
        self.best_vector, self.best_value, self.count = varied.start, -math.inf, 0
        self.course = Course()
        self.last: tuple[np.ndarray, float, np.ndarray, float] | None = None

        def worth(vector: Any) -> tuple[Any, Any]:
            pulse = varied.pulse_of(vector)
            value = objective(pulse)
            return _real_number(value), fluence_of(pulse)

        self.slope = jax.value_and_grad(worth, has_aux=True)
        done, _ = rounds.begin({"best": varied.start})
        names = ("vector", "value", "gradient", "fluence")
        self.known = list(zip(*(rounds.records(name) for name in names), strict=True))[:done]
        if self.known:
            self._require_same_objective()

    def run(self, box: Any, iterations: int) -> str:
        """Why it ended."""
        # Whether it has converged is judged here: SciPy takes changes far below one for none.
        options = {
            "maxiter": iterations, "maxfun": math.inf, "maxcor": REMEMBERED,
            "ftol": 0.0, "gtol": 0.0,
        }  # fmt: skip
        try:
            self._noted(self.varied.start, *self._evaluated(self.varied.start))
            found = scipy.optimize.minimize(
                self._minus, self.varied.start, jac=True, method="L-BFGS-B", bounds=box,
                options=options, callback=self._iterated,
            )  # fmt: skip
        except _Enough as reason:
            return str(reason)
        if found.success:
            return "converged: within the bounds no parameter changes the objective to first order"
        if found.nit >= iterations:
            return f"all {iterations} iterations are done; more may gain more"
        return LOST

    def _minus(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """As SciPy sees it: in units in which the first gradient, and so the first step, is one.

        A power of two rounds nothing.
        """
        value, gradient, _ = self._evaluated(vector)
        unit = 2.0 ** round(math.log2(self.course.gradients[0]))
        return -value / unit, -gradient / unit

    def _evaluated(self, vector: np.ndarray) -> tuple[float, np.ndarray, float]:
        if self.last is not None and np.array_equal(self.last[0], vector):
            return self.last[1:]
        value, gradient, energy = self._known(vector) or self._computed(vector)
        self.count += 1
        self.last = np.array(vector), value, gradient, energy
        if not (math.isfinite(value) and np.all(np.isfinite(gradient))):
            what = "value" if not math.isfinite(value) else "gradient"
            if self.count == 1:
                raise checks.InputError(
                    "objective", f"must have a finite {what} at the pulse given, but has none"
                )
            raise _Enough(f"the objective had no finite {what} at evaluation {self.count}")
        if value > self.best_value:
            self.best_vector, self.best_value = np.array(vector), value
        flat = float(np.linalg.norm(gradient)) <= FLAT * abs(value)
        if self.count == 1 and value < self.goal and flat:
            raise checks.InputError(
                "pulse", "must change the objective to first order, but its gradient there is "
                "zero: begin with another pulse"
            )  # fmt: skip
        return value, gradient, energy

    def _known(self, vector: np.ndarray) -> tuple[float, np.ndarray, float] | None:
        """What a checkpoint has for this evaluation."""
        if self.count >= len(self.known) or not np.array_equal(self.known[self.count][0], vector):
            return None
        _, value, gradient, energy = self.known[self.count]
        return float(value), np.asarray(gradient), float(energy)

    def _require_same_objective(self) -> None:
        """Refuse what another objective has found: value or slope at the first pulse differ."""
        vector, value, gradient, _ = self.known[0]
        (again, _), slope = self.slope(np.asarray(vector))
        near = max(SAME, 1e3 * float(jnp.finfo(jnp.result_type(again)).eps))
        change = float(np.linalg.norm(np.asarray(slope) - gradient))
        if not (
            abs(float(again) - float(value)) <= near * abs(float(value))
            and change <= 1e3 * near * float(np.linalg.norm(gradient))
        ):
            raise checks.InputError(
                "resume", "must continue with the same objective, but at the first pulse it is now "
                f"{float(again):.12g}, and was {float(value):.12g}"
            )  # fmt: skip

    def _computed(self, vector: np.ndarray) -> tuple[float, np.ndarray, float]:
        (value, energy), gradient = self.slope(np.asarray(vector))
        found = float(value), np.asarray(gradient, float), float(energy)
        row = dict(zip(("value", "gradient", "fluence"), found, strict=True))
        self.rounds.keep(self.count + 1, {"best": self.best_vector}, vector=vector, **row)
        return found

    def _iterated(self, intermediate_result: Any) -> None:
        vector = np.asarray(intermediate_result.x)
        self._noted(vector, *self._evaluated(vector))
        values = self.course.values
        if values[-1] - values[-2] <= self.tol * max(abs(values[0]), abs(values[-1])):
            raise _Enough(
                f"converged: the last iteration gained no more than {self.tol:g} of the objective"
            )

    def _noted(self, vector: np.ndarray, value: float, gradient: Any, energy: float) -> None:
        size = float(np.linalg.norm(gradient))
        self.course = self.course.with_iteration(value, energy, size, self.count)
        if self.progress and processes.first():
            number = len(self.course.values) - 1
            print(
                f"iteration {number:<4} objective {value:.10g}   fluence {energy:.5g}   "
                f"gradient {size:.2e}   {self.count} evaluations",
                file=sys.stderr,
            )
        if value >= self.goal:
            raise _Enough(f"the goal {self.goal:g} is reached")


def _real_number(value: Any) -> Any:
    """What an objective gave, as a number that has a derivative."""
    fault = f"an array of shape {np.shape(value)}" if np.shape(value) else ""
    if not fault and not eqx.is_array_like(value):
        fault = "None" if value is None else checks.shown(value)
    elif jnp.iscomplexobj(value):
        fault = "a complex one"
    if fault:
        raise checks.InputError("objective", f"must give one real number, but gives {fault}")
    number: Any = value
    return number if jnp.issubdtype(jnp.result_type(number), jnp.floating) else 1.0 * number


def _marks(objective: Any, pulse: Field) -> Any:
    """What can be told of an objective: all of an `AtEnd`, with H for the pulse given, else its
    name. A function shows in its value at the start, which is compared as well.
    """
    if isinstance(objective, AtEnd):
        return same_run.fingerprint(*objective.parts(pulse))
    return getattr(objective, "__qualname__", type(objective).__name__)
