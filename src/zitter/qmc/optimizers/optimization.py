"""Optimization of the parameters of Ψ on samples of |Ψ|²."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, loop
from zitter.qmc.optimized import Stage
from zitter.qmc.optimizers.base import Method
from zitter.qmc.optimizers.linear_method import LinearMethod
from zitter.qmc.optimizers.tables import energies, reweighted, sample, tabulate
from zitter.qmc.statistics import reblock
from zitter.qmc.walk import variational
from zitter.qmc.wavefunction import Wavefunction

Psi = TypeVar("Psi", bound=Wavefunction)
LEAST_OVERLAP = 0.5  # effective fraction of samples a trial must keep after reweighting


@dataclasses.dataclass(frozen=True)
class Iteration:
    """One set of parameters with the energy sampled from it."""

    parameters: np.ndarray
    energy: float
    error: float
    variance: float
    variance_error: float


@dataclasses.dataclass(frozen=True)
class Optimization(Generic[Psi]):
    """The best wave function found, and how it was found."""

    wavefunction: Psi
    history: list[Iteration]
    best: int
    method: str
    units: str

    @property
    def stage(self) -> Stage:
        """The course alone, for files and pictures."""
        columns = ("energy", "error", "variance", "variance_error")
        courses = (np.asarray([getattr(item, name) for item in self.history]) for name in columns)
        return Stage(self.method, self.units, self.best, *courses)

    def summary(self) -> str:
        return self.stage.summary()

    def __repr__(self) -> str:
        return self.summary()


def optimize(
    psi: Psi,
    method: Method | None = None,
    walkers: int = 256,
    *,
    draws: int = 16,
    stride: int = 4,
    seed: int = 0,
    progress: bool = False,
) -> Optimization[Psi]:
    """Optimize the parameters of Ψ; what comes back is never worse than what went in.

    Each iteration draws `draws` × `walkers` samples from the present Ψ. Every set of parameters is
    judged by samples of its own, the first one included, and the best is returned.
    """
    method = LinearMethod() if method is None else method
    check_options(psi, method, walkers, draws, stride, seed)
    divisor, units = psi.system.units
    state = variational.first_state(psi, walkers, seed, jnp.float64)
    state, _, _ = _draw(psi, state, 16, stride, True, "equilibrating", progress)
    history: list[Iteration] = []
    for index in range(method.iterations + 1):
        # Walkers come from the previous parameters: let them settle in the new ones.
        state, _, _ = _draw(psi, _restarted(psi, state), 8, stride, True, "settling", False)
        label = f"optimizing {index + 1} of {method.iterations + 1}"
        state, data, blocks = _draw(psi, state, draws, stride, False, label, progress)
        energy = reblock(blocks["energy"] / divisor)
        variance = reblock(blocks["variance"])
        history.append(
            Iteration(
                np.asarray(psi.parameters), energy.mean, energy.error, variance.mean, variance.error
            )
        )
        if index == method.iterations:
            break
        table = tabulate(psi, data)
        trials = method.candidates(psi, data, table)
        psi = psi.with_parameters(jnp.asarray(_choose(psi, method, data, table, trials)))
    scores = [method.objective(h.energy + h.error, h.variance + h.variance_error) for h in history]
    best = int(np.nanargmin(scores))
    final = psi.with_parameters(jnp.asarray(history[best].parameters))
    return Optimization(final, history, best, type(method).__name__, units)


def check_options(psi: Any, method: Any, walkers: Any, draws: Any, stride: Any, seed: Any) -> None:
    """Refuse what `optimize` cannot use; no method is its own choice."""
    checks.instance("psi", psi, Wavefunction)
    if method is not None:
        checks.instance("method", method, Method)
    checks.integer("walkers", walkers, 2)
    checks.integer("draws", draws, 4)
    checks.integer("stride", stride, 1)
    checks.integer("seed", seed, 0)
    if np.size(psi.parameters) == 0:
        raise checks.InputError(
            "psi", "must have parameters, such as those of Jastrow terms, but has none"
        )


def _restarted(psi: Wavefunction, state: variational.State) -> variational.State:
    """The same positions under new parameters."""
    walkers = variational.fresh_walkers(psi, state.walkers.r, jnp.float64)
    return eqx.tree_at(lambda s: s.walkers, state, walkers)


def _step(context: variational.Context, state: variational.State):
    """A VMC step that also hands out what optimization needs of each walker."""
    state, record = variational.step(context, state)
    keys = jax.random.split(jax.random.fold_in(state.key, 1), state.walkers.log.shape[0])
    one = lambda walker, key: sample(context.psi, walker, key)  # noqa: E731
    return state, (record, jax.vmap(one)(state.walkers, keys))


def _guard(state: variational.State, done: int) -> str | None:
    if bool(jnp.all(jnp.isfinite(state.walkers.log))):
        return None
    return f"ln|Ψ| of a walker became infinite or NaN by draw {done}: start from other parameters."


def _draw(psi, state, draws, stride, tune, label, progress):
    fixed = variational.Context(
        psi, jnp.asarray(stride, jnp.int32), jnp.asarray(tune), (), jnp.float64
    )
    run = loop.drive(_step, fixed, state, draws, label=label, guard=_guard, progress=progress)
    record, data = run.records
    flat = jax.tree.map(lambda x: np.asarray(x).reshape(-1, *np.shape(x)[2:]), data)
    return run.state, flat, {name: np.asarray(value) for name, value in record.items()}


def _choose(psi, method, data, table, trials) -> np.ndarray:
    """The trial that correlated sampling likes best, the present parameters if none is better."""
    present = np.asarray(psi.parameters)
    divisor, _ = psi.system.units
    old = np.asarray(energies(psi, psi.parameters, data)[1])
    score = method.objective(float(np.mean(table.energy)) / divisor, float(np.var(table.energy)))
    best, found = present, score
    for trial in trials:
        if not np.all(np.isfinite(trial)):
            continue
        energy, variance, overlap = reweighted(psi, data, trial, old)
        value = method.objective(energy / divisor, variance)
        if math.isfinite(value) and overlap >= LEAST_OVERLAP and value < found:
            best, found = trial, value
    return best
