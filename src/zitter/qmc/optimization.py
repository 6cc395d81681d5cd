"""Optimization of the Jastrow parameters on samples of |Ψ|².

The determinants do not change, so of each sample only ∇ln D and the parameter-free part of the
local energy are kept; whatever parameters are tried, only the Jastrow factor is evaluated again.
"""

from __future__ import annotations

import abc
import dataclasses
import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, loop
from zitter.qmc import variational
from zitter.qmc.optimized import Stage
from zitter.qmc.statistics import reblock
from zitter.qmc.wavefunction import SlaterJastrow

BATCH = 256  # samples whose derivatives are taken at once
LEAST_OVERLAP = 0.5  # effective fraction of samples a trial must keep after reweighting


class Data(NamedTuple):
    """Samples of |Ψ|²: positions, ∇ln D, and the local energy without the Jastrow factor."""

    r: Any  # (M, d, N)
    slope: Any  # (M, d, N)
    base: Any  # (M,)


class Table(NamedTuple):
    """Local energies, ∂lnΨ/∂p and ∂E/∂p of all samples."""

    energy: np.ndarray  # (M,)
    log_slope: np.ndarray  # (M, P)
    energy_slope: np.ndarray  # (M, P)


class Method(eqx.Module):
    """How to improve parameters from samples."""

    iterations: eqx.AbstractVar[int]

    @abc.abstractmethod
    def candidates(self, psi: SlaterJastrow, data: Data, table: Table) -> list[np.ndarray]:
        """Parameter vectors to try."""

    @abc.abstractmethod
    def objective(self, energy: float, variance: float) -> float:
        """What is made small."""


@dataclasses.dataclass(frozen=True)
class Iteration:
    """One set of parameters with the energy sampled from it."""

    parameters: np.ndarray
    energy: float
    error: float
    variance: float
    variance_error: float


@dataclasses.dataclass(frozen=True)
class Optimization:
    """The best wave function found, and how it was found."""

    wavefunction: SlaterJastrow
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
    psi: SlaterJastrow,
    method: Method | None = None,
    walkers: int = 256,
    *,
    draws: int = 16,
    stride: int = 4,
    seed: int = 0,
    progress: bool = False,
) -> Optimization:
    """Optimize the Jastrow parameters; what comes back is never worse than what went in.

    Each iteration draws `draws` × `walkers` samples from the present Ψ. Every set of parameters is
    judged by samples of its own, the first one included, and the best is returned.
    """
    if method is None:
        from zitter.qmc.linear_method import LinearMethod

        method = LinearMethod()
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
    checks.instance("psi", psi, SlaterJastrow)
    if method is not None:
        checks.instance("method", method, Method)
    checks.integer("walkers", walkers, 2)
    checks.integer("draws", draws, 4)
    checks.integer("stride", stride, 1)
    checks.integer("seed", seed, 0)
    if not psi.terms:
        raise checks.InputError("psi", "must have Jastrow terms to optimize, but has none")


def _restarted(psi: SlaterJastrow, state: variational.State) -> variational.State:
    """The same positions under new parameters."""
    walkers = variational.fresh_walkers(psi, state.walkers.r, jnp.float64)
    return eqx.tree_at(lambda s: s.walkers, state, walkers)


def _step(context: variational.Context, state: variational.State):
    """A VMC step that also hands out what optimization needs of each walker."""
    state, record = variational.step(context, state)
    psi = context.psi

    def needed(walker):
        slope, curvature = psi.slater.derivatives(walker.r, walker.inverse, jnp.float64)
        potential = sum(psi.system.potential(walker.r, jnp.float64).values())
        return Data(walker.r, jnp.real(slope), potential - 0.5 * jnp.real(curvature))

    return state, (record, jax.vmap(needed)(state.walkers))


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
    flat = Data(*(np.asarray(x).reshape(-1, *np.shape(x)[2:]) for x in data))
    return run.state, flat, {name: np.asarray(value) for name, value in record.items()}


def local_energy(psi: SlaterJastrow, parameters: Any, sample: Data) -> tuple[Any, Any]:
    """E_L and J of one sample under other parameters."""
    value, gradient, laplacian = psi.with_parameters(parameters).jastrow_derivatives(sample.r)
    kinetic = jnp.sum(2 * gradient * sample.slope) + jnp.sum(gradient**2) + laplacian
    return sample.base - 0.5 * kinetic, value


@eqx.filter_jit
def energies(psi: SlaterJastrow, parameters: Any, data: Data) -> tuple[Any, Any]:
    """(E_L, J) of all samples."""
    one = lambda sample: local_energy(psi, parameters, sample)  # noqa: E731
    return jax.lax.map(one, data, batch_size=BATCH)


@eqx.filter_jit
def _derivatives(psi, parameters, data):
    def one(sample):
        energy, pull = jax.vjp(lambda p: local_energy(psi, p, sample), parameters)
        ones, none = jnp.ones(()), jnp.zeros(())
        return energy[0], pull((none, ones))[0], pull((ones, none))[0]

    return jax.lax.map(one, data, batch_size=BATCH)


def tabulate(psi: SlaterJastrow, data: Data) -> Table:
    return Table(*(np.asarray(x) for x in _derivatives(psi, psi.parameters, data)))


def reweighted(psi: SlaterJastrow, data: Data, trial: np.ndarray, old: np.ndarray):
    """(energy, variance, overlap) of trial parameters on samples of the present ones."""
    energy, log = (np.asarray(x) for x in energies(psi, jnp.asarray(trial), data))
    power = 2 * (log - old)
    weights = np.exp(power - np.max(power))
    weights = weights / np.sum(weights)
    mean = float(np.sum(weights * energy))
    variance = float(np.sum(weights * (energy - mean) ** 2))
    return mean, variance, float(1 / np.sum(weights**2) / len(weights))


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
