"""Diffusion Monte Carlo in the fixed-node approximation, with a constant number of walkers.

Each time step drifts and diffuses every electron once (Umrigar, Nightingale and Runge, J. Chem.
Phys. 99, 2865 (1993)), then multiplies the weight of each walker by

    exp{−τ_eff [½(Ē(R') + Ē(R)) − E_T]},

where τ_eff is τ times the mean square diffusion that was accepted, and Ē is the local energy held
within ±0.2√(N/τ) of the best energy (Zen et al., Phys. Rev. B 93, 241118: size consistent, and
without effect as τ → 0). When the weights have spread, walkers are drawn anew in proportion to them
by a comb (Calandra Buonaura and Sorella, Phys. Rev. B 57, 11446), which keeps all shapes fixed; the
bias of the constant number is undone by the product of the mean weights over a past window.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, loop
from zitter.qmc import spread, streams
from zitter.qmc.estimators import Estimator, Prepared
from zitter.qmc.runs import Run
from zitter.qmc.samples import Samples
from zitter.qmc.spread import exact_sum, exact_sums
from zitter.qmc.statistics import group_count
from zitter.qmc.walk import pace, variational
from zitter.qmc.walk.branching import comb
from zitter.qmc.walk.guards import STUCK, Counts, no_counts, notes
from zitter.qmc.walk.localization import Localization, TMoves, is_nonlocal, t_moves
from zitter.qmc.walk.near_nuclei import drift_diffusion
from zitter.qmc.walk.pace import check_localization, usual_equilibration
from zitter.qmc.walk.sweep import sweep
from zitter.qmc.wavefunction import Walker, Wavefunction

ENERGY_LIMIT = 0.2  # of √(N/τ)
RESAMPLE_BELOW = 0.75  # effective fraction of walkers at which the comb is drawn
REFRESH = 50  # steps after which determinants are computed anew
WINDOW = 64  # blocks of time over which mean weights correct the constant population


class Context(eqx.Module):
    """What a DMC run keeps fixed."""

    psi: Wavefunction
    timestep: Any
    steps: Any  # of each block
    tune: Any  # whether the trial energy follows the walkers
    estimators: tuple[Prepared, ...]
    dtype: Any = eqx.field(static=True)
    localization: Localization = TMoves()


class State(eqx.Module):
    """What a DMC run carries along."""

    walkers: Walker
    key: Any
    log_weights: Any  # of mean weight 1
    energies: Any  # local energies of the walkers
    age: Any  # steps since a walker last moved
    trial: Any  # E_T
    past: Any  # logarithms of the mean weights of past blocks
    counts: Counts


def dmc(
    psi: Wavefunction,
    timestep: float | str,
    walkers: int = 256,
    blocks: int = 200,
    *,
    steps: int = 10,
    equilibration: int | None = None,
    localization: Localization | None = None,
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
    """Project out the ground state within the nodes of Ψ.

    Each of `blocks` holds `steps` time steps of `timestep`. Before them come a short VMC run and
    `equilibration` blocks; without a number, electrons get the time to diffuse over four times the
    distance to their neighbours, or over an atom. `localization` says what becomes of nonlocal
    pseudopotentials: `TMoves()` unless given, `Locality()` or `DeterminantLocality()`.
    """
    timestep = check_pace(psi, timestep, steps, equilibration)
    localization = check_localization(psi, localization)
    run = Run.checked(
        psi, walkers, blocks, estimators, seed, precision, start, twists, checkpoint,
        checkpoint_every, resume, progress,
    )  # fmt: skip
    if equilibration is None:
        equilibration = usual_equilibration(psi, timestep, steps)
    # Records are sums over groups: those of other groups cannot be gone on with.
    about = ("dmc", timestep, steps, equilibration, group_count(run.walkers, relatives=True))
    nonlocal_name = type(localization).__name__ if is_nonlocal(psi) else None
    about += (nonlocal_name,) if nonlocal_name else ()

    def context(tune: bool) -> Context:
        count = jnp.asarray(steps, jnp.int32)
        tau = jnp.asarray(timestep)
        return Context(
            run.psi, tau, count, jnp.asarray(tune), run.estimators, run.dtype, localization
        )

    advance = run.over_twists(step, counter)
    judge = guard(run)

    def equilibrate() -> State:
        warm = loop.drive(
            advance, context(True), loop.Handed(_from_vmc(run)), equilibration,
            label="equilibrating DMC", guard=judge, progress=run.progress,
        )  # fmt: skip
        settled = np.asarray(warm.records["energy"])[equilibration // 2 :]
        fresh = (jnp.asarray(np.mean(settled, axis=0)), no_counts(warm.state.trial))
        return eqx.tree_at(lambda s: (s.trial, s.counts), warm.state, fresh)

    begin = loop.Handed(run.settled(lambda: _blank(run), equilibrate, *about))
    outcome = run.drive(advance, context(False), begin, "DMC", judge, steps, *about)
    records = dict(outcome.records)
    weights = np.exp(np.asarray(records.pop("log_weight")))
    info = {
        "method": "DMC",
        "timestep": timestep,
        "steps_per_block": steps,
        "equilibration_blocks": equilibration,
        "seconds": outcome.seconds,
        **({"localization": nonlocal_name} if nonlocal_name else {}),
        "notes": notes(outcome.state.counts, run.walkers, psi.system.electrons, timestep),
    }
    return run.finish(records, weights, outcome.state.walkers, info)


def check_pace(psi: Wavefunction, timestep: Any, steps: Any, equilibration: Any) -> float:
    """The time step; refuse what cannot be used, or counted by the compiled loop."""
    timestep = pace.check_pace(psi, timestep, steps, equilibration)
    checks.integer("steps", steps, maximum=checks.MOST_ROUNDS)
    if equilibration is not None:
        checks.integer("equilibration", equilibration, maximum=checks.MOST_ROUNDS)
    return timestep


def counter(state: State) -> Any:
    return state.counts.steps


def blank_state(vmc: variational.State, trial: Any) -> State:
    """DMC walkers of equal weight where a VMC run left them.

    Their energies are not computed: the trial energy stands for them in the first step, long before
    anything is measured.
    """
    shape = vmc.walkers.log.shape
    energies = jnp.broadcast_to(trial[..., None], shape)
    each = jnp.zeros(shape), energies, jnp.zeros(shape, jnp.int32)
    log_weights, energies, age = spread.placed(each, twisted=trial.ndim > 0)
    return State(
        vmc.walkers,
        vmc.key,
        log_weights,
        energies,
        age,
        trial,
        jnp.zeros((*trial.shape, WINDOW)),
        no_counts(trial),
    )


def _blank(run: Run) -> State:
    """Arrays like those of a run that has begun."""
    first = variational.first_states(run, streams.DIFFUSION)
    return blank_state(first, jnp.zeros(first.width.shape))


def _from_vmc(run: Run) -> State:
    """Walkers drawn from |Ψ|², and the trial energy they have."""
    vmc = variational.equilibrated(run, variational.EQUILIBRATION, 1, streams.DIFFUSION)
    settled = np.asarray(vmc.records["energy"])[variational.EQUILIBRATION // 2 :]
    trial = jnp.asarray(np.mean(settled, axis=0))
    return blank_state(vmc.state, trial)


def guard(run: Run) -> Any:
    def finite(state: State) -> Any:
        fine = jnp.all(jnp.isfinite(state.energies), axis=-1)
        return fine & jnp.any(jnp.isfinite(state.log_weights), axis=-1)

    return run.guard(
        finite, "a local energy became infinite or NaN, or all walkers were stuck (take a smaller "
        "time step or a better Ψ)",
    )  # fmt: skip


@eqx.filter_jit  # traced once, as that of VMC
def step(context: Context, state: State) -> tuple[State, dict[str, Any]]:
    """One block of time steps; its averages are weighted with the walkers' weights."""

    # Traced once, for its shapes and for the loop.
    once = jax.jit(lambda state: _time_step(context, state))

    def body(_, carry):
        state, sums, growth = carry
        state, record, grown = once(state)
        # The mean weight since the start of the block multiplies what follows.
        factor = jnp.exp(growth + grown)
        sums = jax.tree.map(lambda a, b: a + factor * b, sums, record)
        return state, sums, growth + grown

    shapes = jax.eval_shape(once, state)[1]
    zeros = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes)
    state, sums, growth = jax.lax.fori_loop(0, context.steps, body, (state, zeros, jnp.zeros(())))
    total = sums.pop("one")
    record = {name: value / total for name, value in sums.items()}
    past = jnp.concatenate([state.past[1:], growth[None]])
    # Weight of this block: mean weights of the window before it, times its own.
    record["log_weight"] = jnp.sum(state.past) + jnp.log(total / context.steps)
    tau = record["effective_timestep"]
    record["growth_energy"] = state.trial - growth / (context.steps * tau)
    trial = jnp.where(context.tune, 0.5 * (state.trial + record["energy"]), state.trial)
    past = jnp.where(context.tune, jnp.zeros_like(past), past)
    return eqx.tree_at(lambda s: (s.trial, s.past), state, (trial, past)), record


def _time_step(context: Context, state: State):
    psi, dtype, tau = context.psi, context.dtype, context.timestep
    key, move_key, comb_key, measure_key = jax.random.split(state.key, 4)
    dynamics = drift_diffusion(psi.system, tau)
    walkers, tally = sweep(psi, dynamics, state.walkers, move_key, dtype)
    moved = tally.accepted
    if context.localization.moves and is_nonlocal(psi):
        own = streams.apart(move_key, streams.T_MOVES)
        walkers, gone = t_moves(psi, tau, walkers, own, dtype)
        moved = moved + gone
    done = state.counts.steps + 1
    walkers = jax.lax.cond(
        done % REFRESH == 0,
        lambda w: variational.refresh(psi, w, dtype)[0],
        lambda w: w,
        walkers,
    )
    electrons = psi.system.electrons
    sums = exact_sums(tally._asdict())
    effective = tau * sums["diffused_accepted"] / sums["diffused"]
    limit = ENERGY_LIMIT * jnp.sqrt(electrons / tau)
    parts, measured = variational.everything(
        psi, walkers, context.estimators, measure_key, dtype, context.localization.terms(psi)
    )
    energies = parts["energy"]
    held = lambda e: state.trial + jnp.clip(e - state.trial, -limit, limit)  # noqa: E731
    mean = 0.5 * (held(energies) + held(state.energies))
    log_weights = state.log_weights - effective * (mean - state.trial)
    age = jnp.where(moved > 0, 0, state.age + 1)
    stuck = age >= STUCK
    log_weights = jnp.where(stuck, -jnp.inf, log_weights)
    count = energies.shape[0]
    largest = jnp.max(log_weights)
    grown = largest + jnp.log(exact_sum(jnp.exp(log_weights - largest)) / count)
    log_weights = log_weights - grown
    weights = jnp.exp(log_weights)
    limited = jnp.abs(energies - state.trial) > limit
    beside = {"weight": weights, "square": weights**2, "limited": limited, "stuck": stuck}
    record, more = variational.averaged(parts, beside, relatives=True)
    sums |= more
    record |= variational.reduced(context.estimators, measured, weights / sums["weight"])
    population = sums["weight"] ** 2 / sums["square"]
    # Stuck walkers are replaced at once; if all are, the guard ends the run.
    some = (sums["stuck"] > 0) & (sums["stuck"] < count)
    drawn = (population < RESAMPLE_BELOW * count) | some
    walkers, energies, age = jax.lax.cond(
        drawn,
        lambda each: comb(comb_key, weights, each),
        lambda each: each,
        (walkers, energies, age),
    )
    log_weights = jnp.where(drawn, 0.0, log_weights)
    record |= {
        "acceptance": sums["accepted"] / count / electrons,
        "population": population,
        "effective_timestep": effective,
        "one": jnp.ones(()),
    }
    counts = Counts(
        done,
        state.counts.combs + drawn,
        state.counts.limited + sums["limited"],
        state.counts.stuck + sums["stuck"],
        state.counts.crossed + sums["crossed"],
    )
    state = State(walkers, key, log_weights, energies, age, state.trial, state.past, counts)
    return state, record, grown
