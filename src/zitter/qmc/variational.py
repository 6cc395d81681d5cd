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

from zitter import checks, loop, runtime
from zitter.qmc.estimators import Estimator, Prepared
from zitter.qmc.samples import Samples, make_samples
from zitter.qmc.statistics import autocorrelation_time
from zitter.qmc.sweep import GaussianSteps, sweep
from zitter.qmc.wavefunction import SlaterJastrow, Walker

ACCEPTANCE = 0.5  # aimed at while the step is tuned
REFRESH = 50  # sweeps after which inverses are computed anew
LONGEST_STRIDE = 20


class Context(eqx.Module):
    """What a VMC run keeps fixed."""

    psi: SlaterJastrow
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
    psi: SlaterJastrow,
    walkers: int = 256,
    blocks: int = 200,
    *,
    stride: int | None = None,
    equilibration: int = 100,
    estimators: Sequence[Estimator] = (),
    seed: int = 0,
    precision: str | None = None,
    start: Any = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: bool = False,
) -> Samples:
    """Sample |Ψ|² and measure the energy.

    `blocks` measurements of all `walkers` are `stride` sweeps apart; without `stride` the
    autocorrelation time measured during `equilibration` sweeps decides. `start` may hold positions
    (walkers, d, N), such as the `positions` of an earlier run.
    """
    walkers = checks.integer("walkers", walkers, 2)
    blocks = checks.integer("blocks", blocks, 4)
    equilibration = checks.integer("equilibration", equilibration, 10)
    prepared = tuple(estimator.prepare(psi.system) for estimator in estimators)
    dtype = pair_dtype(precision)
    context = Context(psi, jnp.asarray(1, jnp.int32), jnp.asarray(True), prepared, dtype)
    state = first_state(psi, walkers, seed, dtype, start)
    warm = loop.drive(
        step, context, state, equilibration, label="equilibrating", progress=progress, guard=guard
    )
    if stride is None:
        tau = autocorrelation_time(warm.records["energy"][equilibration // 2 :])
        stride = min(max(1, math.ceil(tau / 2)), LONGEST_STRIDE)
    stride = checks.integer("stride", stride, 1)
    context = Context(psi, jnp.asarray(stride, jnp.int32), jnp.asarray(False), prepared, dtype)
    saved = (
        None
        if checkpoint is None
        else loop.Checkpoint(
            Path(checkpoint), signature=signature(psi, walkers, seed, stride, str(dtype))
        )
    )
    run = loop.drive(
        step, context, warm.state, blocks, label="VMC", guard=guard, checkpoint=saved,
        resume=resume, progress=progress,
    )  # fmt: skip
    if saved is not None:
        saved.clear()
    info = {
        "method": "VMC",
        "system": repr(psi),
        "walkers": walkers,
        "stride": stride,
        "step_width": float(run.state.width),
        "determinant_drift": float(run.state.drift),
        "seconds": run.seconds,
        "seed": seed,
        **runtime.describe(),
        "precision": "double" if dtype == jnp.float64 else "single",
    }
    return collect(psi, run.records, np.ones(blocks), info, prepared, run.state.walkers)


def pair_dtype(precision: str | None) -> Any:
    """The type of pair terms and orbitals: float32 in "single", where determinants stay double."""
    now = runtime.settings()
    if precision is None:
        precision = "double" if now.precision == "double" else "single"
    checks.choice("precision", precision, ("double", "single"))
    return jnp.float64 if precision == "double" else jnp.float32


def first_state(psi: SlaterJastrow, walkers: int, seed: int, dtype: Any, start: Any) -> State:
    key = jax.random.PRNGKey(seed)
    key, own = jax.random.split(key)
    if start is None:
        r = psi.system.start(own, walkers)
    else:
        given = checks.array("start", start, (None, psi.system.dimension, psi.system.electrons))
        r = jnp.asarray(given[np.arange(walkers) % len(given)])
    fresh = _fresh_walkers(psi, r, dtype)
    width = 0.5 * psi.system.length * jnp.ones(())
    return State(fresh, key, width, jnp.zeros((), jnp.int32), jnp.zeros(()))


@eqx.filter_jit
def _fresh_walkers(psi, r, dtype):
    return jax.vmap(lambda x: psi.start(x, dtype))(r)


def step(context: Context, state: State) -> tuple[State, dict[str, Any]]:
    """`stride` sweeps and one measurement of all walkers."""
    psi, dtype = context.psi, context.dtype
    key, sweep_key, measure_key = jax.random.split(state.key, 3)
    dynamics = GaussianSteps(state.width)

    def once(index, carry):
        walkers, accepted = carry
        walkers, tally = sweep(psi, dynamics, walkers, jax.random.fold_in(sweep_key, index), dtype)
        return walkers, accepted + tally.accepted

    count = state.walkers.r.shape[0]
    walkers, accepted = jax.lax.fori_loop(
        0, context.stride, once, (state.walkers, jnp.zeros(count))
    )
    moves = context.stride * psi.system.electrons
    acceptance = jnp.mean(accepted) / moves
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


def refresh(psi: SlaterJastrow, walkers: Walker, dtype: Any) -> tuple[Walker, Any]:
    """Everything computed anew from the positions, and the largest change of ln|Ψ| this made."""
    fresh = jax.vmap(lambda r: psi.start(r, dtype))(walkers.r)
    return fresh, jnp.max(jnp.abs(fresh.log - walkers.log))


def measure(psi, walkers, estimators, key, dtype, weights=None) -> dict[str, Any]:
    """Averages over walkers: parts of the energy, its variance, and the estimators."""
    count = walkers.r.shape[0]
    w = jnp.full(count, 1.0 / count) if weights is None else weights / jnp.sum(weights)
    parts = jax.vmap(lambda one: psi.local_energy(one, dtype))(walkers)
    record = {name: jnp.sum(w * values) for name, values in parts.items()}
    record["variance"] = jnp.sum(w * (parts["energy"] - record["energy"]) ** 2)
    keys = jax.random.split(key, count)
    for estimator in estimators:
        values = jax.vmap(lambda one, k, e=estimator: e.evaluate(psi, one, k))(walkers, keys)
        record[estimator.name] = jnp.tensordot(w, values, 1)
    return record


def guard(state: State, done: int) -> str | None:
    if not bool(jnp.all(jnp.isfinite(state.walkers.log))):
        return (
            f"ln|Ψ| of a walker became infinite or NaN by block {done}: start from other walkers."
        )
    return None


def collect(psi, records, weights, info, estimators, walkers: Walker) -> Samples:
    """Samples from the records of a run; energies in the system's units."""
    divisor, units = psi.system.units
    records = {name: np.asarray(values) for name, values in records.items()}
    measured = {e.name: e.finalize(records.pop(e.name), weights) for e in estimators}
    plain = ("variance", "acceptance", "population", "effective_timestep")
    traces = {
        name: values if name in plain else values / divisor for name, values in records.items()
    }
    return make_samples(traces, weights, units, info, measured, np.asarray(walkers.r))


def signature(psi: SlaterJastrow, *rest: Any) -> str:
    """What must be equal for a resume to continue the same run."""
    import hashlib

    digest = hashlib.sha256(repr(rest).encode())
    arrays, static = eqx.partition(psi, eqx.is_array_like)
    for leaf in jax.tree.leaves(arrays):
        digest.update(np.asarray(leaf).tobytes())
    digest.update(str(jax.tree.structure(static)).encode())
    return digest.hexdigest()
