"""Variational Monte Carlo: Metropolis sampling of |Ψ|² by moves of one electron at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, loop
from zitter.qmc import spread
from zitter.qmc.energies import EnergyTerm, local_energies
from zitter.qmc.estimators import Estimator, Prepared
from zitter.qmc.runs import Run
from zitter.qmc.samples import Samples
from zitter.qmc.statistics import GROUPS, autocorrelation_time, group_count
from zitter.qmc.streams import seeded
from zitter.qmc.walk.near_nuclei import steps
from zitter.qmc.walk.sweep import sweep
from zitter.qmc.wavefunction import Walker, Wavefunction

ACCEPTANCE = 0.5  # aimed at while the step is tuned
REFRESH = 50  # sweeps after which inverses are computed anew
LONGEST_STRIDE = 20
EQUILIBRATION = 100  # sweeps


class Context(eqx.Module):
    """What a VMC run keeps fixed."""

    psi: Wavefunction
    stride: Any  # sweeps between measurements
    tune: Any  # whether the step width follows the acceptance
    estimators: tuple[Prepared, ...]
    dtype: Any = eqx.field(static=True)


class State(eqx.Module):
    """What a VMC run carries along."""

    walkers: Walker
    key: Any
    width: Any
    sweeps: Any
    drift: Any  # largest |Δ ln Ψ| ever found between updated and fresh determinants


def vmc(
    psi: Wavefunction,
    walkers: int = 256,
    blocks: int = 200,
    *,
    stride: int | None = None,
    equilibration: int = EQUILIBRATION,
    twists: int | Sequence[Sequence[float]] = (),
    estimators: Sequence[Estimator] = (),
    seed: int = 0,
    precision: str | None = None,
    start: Any = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 30.0,
    resume: bool = False,
    progress: bool = False,
) -> Samples:
    """Sample |Ψ|² and measure the energy.

    `blocks` measurements of all `walkers` are `stride` sweeps apart; without `stride` the
    autocorrelation time measured during `equilibration` sweeps decides. `start` may hold positions
    (walkers, d, N), such as the `positions` of an earlier run. With `twists`, as many walkers go
    at each of them, side by side, and the result is their average; a number stands for
    `twist_grid` of it.
    """
    run = Run.checked(
        psi, walkers, blocks, estimators, seed, precision, start, twists, checkpoint,
        checkpoint_every, resume, progress,
    )  # fmt: skip
    check_pace(stride, equilibration)
    about = ("vmc", stride, equilibration)
    state, found = run.settled(
        lambda: (first_states(run), jnp.zeros((), jnp.int32)),
        lambda: _equilibrate(run, equilibration, stride),
        *about,
    )
    begin = loop.Handed(state)
    del state
    context = Context(run.psi, found, jnp.asarray(False), run.estimators, run.dtype)
    advance, sweeps = run.over_twists(step, counter), int(found)
    outcome = run.drive(advance, context, begin, "VMC", guard(run), sweeps, *about)
    last = outcome.state
    info = {
        "method": "VMC",
        "stride": sweeps,
        "step_width": float(np.mean(last.width)),
        "determinant_drift": float(np.max(last.drift)),
        "seconds": outcome.seconds,
    }
    return run.finish(outcome.records, np.ones(run.blocks), last.walkers, info)


def check_pace(stride: Any, equilibration: Any) -> None:
    """Refuse what `vmc` alone cannot use; no stride is its own choice."""
    checks.integer("equilibration", equilibration, 10, checks.MOST_ROUNDS)
    if stride is not None:
        checks.integer("stride", stride, 1, checks.MOST_ROUNDS)


def counter(state: State) -> Any:
    return state.sweeps


def first_states(run: Run, stream: int | None = None) -> State:
    """The walkers to begin with, at every twist, spread over the mesh."""
    if run.twists is None:
        key = seeded(run.seed, stream)
        return first_state(run.psi, run.walkers, key, run.dtype, run.start)
    starts = run.at_twists(
        lambda psi, seed: first_positions(psi, run.walkers, seeded(seed, stream), run.start)
    )
    r, key = (jnp.stack(parts) for parts in zip(*starts, strict=True))
    each = jnp.ones(len(starts))
    at_rest = State(
        spread.placed(r, True), key, _width(run.psi) * each, jnp.zeros((), jnp.int32), 0 * each
    )
    fixed = Context(run.psi, None, None, (), run.dtype)
    return _begun(run.over_twists(_begin, counter), fixed, at_rest)


def equilibrated(run: Run, sweeps: int, stride: int, stream: int | None = None) -> loop.Outcome:
    """Walkers that have found |Ψ|², with the step width that suits them."""
    every = jnp.asarray(stride, jnp.int32)
    context = Context(run.psi, every, jnp.asarray(True), run.estimators, run.dtype)
    return loop.drive(
        run.over_twists(step, counter), context, loop.Handed(first_states(run, stream)), sweeps,
        label="equilibrating VMC", progress=run.progress, guard=guard(run),
    )  # fmt: skip


def _equilibrate(run: Run, sweeps: int, stride: int | None) -> tuple[State, Any]:
    warm = equilibrated(run, sweeps, 1)
    if stride is None:
        energy = np.asarray(warm.records["energy"])[sweeps // 2 :].reshape(-(-sweeps // 2), -1)
        tau = max((autocorrelation_time(e) for e in energy.T if np.all(np.isfinite(e))), default=1)
        stride = min(max(1, math.ceil(tau / 2)), LONGEST_STRIDE)
    return warm.state, jnp.asarray(stride, jnp.int32)


def guard(run: Run) -> Any:
    return run.guard(
        lambda state: jnp.isfinite(state.walkers.log),
        "ln|Ψ| of a walker became infinite or NaN (start from other walkers)",
    )


def first_state(psi: Wavefunction, walkers: int, key: Any, dtype: Any, start: Any = None) -> State:
    """Walkers at the positions `start` (walkers, d, N), or where the system puts them."""
    r, key = first_positions(psi, walkers, key, start)
    fresh = fresh_walkers(psi, spread.placed(r, False), dtype)
    return State(fresh, key, _width(psi), jnp.zeros((), jnp.int32), jnp.zeros(()))


def first_positions(psi: Wavefunction, walkers: int, key: Any, start: Any = None):
    """(where walkers begin, the key of all that follows)."""
    key, own = jax.random.split(key)
    return psi.system.start(own, walkers) if start is None else start, key


def _width(psi: Wavefunction) -> Any:
    return 0.5 * psi.system.length * jnp.ones(())


def _begin(context: Context, state: State) -> tuple[State, None]:
    """Walkers made of the positions that stand in their place."""
    fresh = begun(context.psi, state.walkers, context.dtype)
    return State(fresh, state.key, state.width, state.sweeps, state.drift), None


@eqx.filter_jit
def _begun(begin, context, state):
    return begin(context, state)[0]


@eqx.filter_jit
def fresh_walkers(psi: Wavefunction, r: Any, dtype: Any) -> Walker:
    return begun(psi, r, dtype)


def begun(psi: Wavefunction, r: Any, dtype: Any) -> Walker:
    """Walkers at positions (walkers, d, N), computed from nothing else."""
    return spread.each_walker(lambda psi, x: psi.start(x, dtype), psi, r)


@eqx.filter_jit  # so that it is traced once, for the shapes of its records and for its loop
def step(context: Context, state: State) -> tuple[State, dict[str, Any]]:
    """`stride` sweeps and one measurement of all walkers."""
    psi, dtype = context.psi, context.dtype
    key, sweep_key, measure_key = jax.random.split(state.key, 3)
    dynamics = steps(psi.system, state.width)

    def once(index, carry):
        walkers, accepted = carry
        walkers, tally = sweep(psi, dynamics, walkers, jax.random.fold_in(sweep_key, index), dtype)
        return walkers, accepted + tally.accepted

    count = state.walkers.r.shape[0]
    walkers, accepted = jax.lax.fori_loop(
        0, context.stride, once, (state.walkers, jnp.zeros(count))
    )
    moves = context.stride * psi.system.electrons
    acceptance = spread.exact_sum(accepted) / count / moves
    sweeps = state.sweeps + context.stride
    due = (sweeps // REFRESH) != (state.sweeps // REFRESH)
    walkers, found = jax.lax.cond(
        due, lambda w: refresh(psi, w, dtype), lambda w: (w, 0.0), walkers
    )
    record = measure(psi, walkers, context.estimators, measure_key, dtype)
    record["acceptance"] = acceptance
    factor = jnp.where(context.tune, jnp.exp(acceptance - ACCEPTANCE), 1.0)
    # A step beyond half the cell is a random point already.
    widest = jnp.inf if psi.system.cell is None else psi.system.cell.inradius
    width = jnp.minimum(state.width * factor, widest)
    return State(walkers, key, width, sweeps, jnp.maximum(state.drift, found)), record


def refresh(psi: Wavefunction, walkers: Walker, dtype: Any) -> tuple[Walker, Any]:
    """Everything computed anew from the positions, and the largest change of ln|Ψ| this made."""
    fresh = begun(psi, walkers.r, dtype)
    return fresh, jnp.max(jnp.abs(fresh.log - walkers.log))


def measure(psi, walkers, estimators, key, dtype) -> dict[str, Any]:
    """Averages over walkers: parts of the energy, its variance, and the estimators."""
    count = walkers.r.shape[0]
    parts, measured = everything(psi, walkers, estimators, key, dtype)
    record, _ = averaged(parts, {"weight": jnp.ones(count)})
    return record | reduced(estimators, measured, jnp.full(count, 1.0 / count))


def averaged(
    values: dict[str, Any], beside: dict[str, Any], relatives: bool = False
) -> tuple[dict[str, Any], Any]:
    """(averages over walkers and the variance of the energy, sums of what is `beside` them).

    The "weight" of walkers is beside the values. Shares of groups of walkers in weight and averages
    go with the averages, for their error bars; walkers that branch have `relatives` among them.
    """
    weights = beside["weight"]
    columns = beside | {("mean", name): weights * value for name, value in values.items()}
    table = jnp.stack([jnp.asarray(v, jnp.float64) for v in columns.values()], axis=1)
    groups = group_count(len(weights), relatives)
    found, of_groups = spread.exact_group_sums(table, groups)
    sums = dict(zip(columns, found, strict=True))
    total = sums["weight"]
    record = {name: sums["mean", name] / total for name in values}
    deviation = values["energy"] - record["energy"]
    record["variance"] = spread.exact_sum(weights * deviation**2) / total
    of_groups = dict(zip(columns, of_groups.T / total, strict=True))
    record[GROUPS + "weight"] = of_groups["weight"]
    return record | {GROUPS + name: of_groups["mean", name] for name in values}, sums


def reduced(estimators: Sequence[Prepared], measured: dict[str, Any], shares: Any):
    """What the estimators found, averaged over walkers with `shares` that sum to 1."""

    def one(estimator, each):
        return estimator.reduce(*each)

    return {
        e.name: spread.over_walkers(one, e, (measured[e.name], shares), total=True)
        for e in estimators
    }


def everything(
    psi: Wavefunction,
    walkers: Any,
    estimators: Sequence[Prepared],
    key: Any,
    dtype: Any,
    terms: Sequence[EnergyTerm] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parts of the local energy and what the estimators find, for each walker."""
    parts = local_energies(psi, walkers, jax.random.fold_in(key, 1), dtype, terms)
    keys = jax.random.split(key, walkers.r.shape[0])
    found = {e.name: spread.over_walkers(_found, (psi, e), (walkers, keys)) for e in estimators}
    return parts, found


def _found(shared: tuple[Wavefunction, Prepared], each: tuple[Walker, Any]) -> Any:
    """What an estimator finds for each walker here, as many at once as it allows."""
    psi, estimator = shared
    one = lambda walker, k: estimator.evaluate(psi, walker, k)  # noqa: E731
    some = estimator.at_once(psi)
    if some is None or some >= len(each[1]):
        return jax.vmap(one)(*each)
    return jax.lax.map(lambda entry: one(*entry), each, batch_size=some)
