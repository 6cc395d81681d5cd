"""DMC against exact ground states, and its guards."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zitter import checks
from zitter.qmc import (
    ElectronGas,
    SlaterJastrow,
    Trap,
    U,
    dmc,
    extrapolate,
    vmc,
)
from zitter.qmc.streams import seeded
from zitter.qmc.walk import diffusion, variational
from zitter.qmc.walk.branching import comb
from zitter.qmc.walk.guards import STUCK, Counts, notes
from zitter.qmc.walk.pace import usual_equilibration

SYSTEMS = {
    # Orbitals with the right cusp and the wrong width, so that DMC has work to do.
    "harmonic trap": (Trap(frequency=1.0, width=0.8), 1.5),
    "hydrogen": (Trap(Z=1.0, width=0.15), -0.5),
}


def agreement(name: str, seeds: int, walkers: int, blocks: int):
    """For both estimators: (χ² of all seeds against the exact energy, mean, error of the mean).

    Excited states fade as e^{−0.375 t} in hydrogen: a block of 80 steps is 1.6 a.u., so that blocks
    are nearly independent and 30 of them forget the trial function.
    """
    system, exact = SYSTEMS[name]
    psi = SlaterJastrow(system)
    options = {"timestep": 0.02, "walkers": walkers, "blocks": blocks, "steps": 80}
    runs = [dmc(psi, **options, equilibration=30, seed=seed) for seed in range(seeds)]
    found = {}
    for part in ("energy", "growth_energy"):
        estimates = [run.estimate(part) for run in runs]
        pulls = [(e.mean - exact) / e.error for e in estimates]
        error = np.sqrt(np.sum([e.error**2 for e in estimates])) / seeds
        found[part] = (np.sum(np.square(pulls)), np.mean([e.mean for e in estimates]), error)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param("harmonic trap", marks=pytest.mark.slow), "hydrogen"]
)
def test_one_electron_ground_states(name):
    """Exact within σ: χ² of four independent runs.

    Each error bar rests on some 20 blocks, which makes the pulls Student's t: their χ² exceeds 22
    once in a thousand.
    """
    exact = SYSTEMS[name][1]
    start = vmc(SlaterJastrow(SYSTEMS[name][0]), walkers=128, blocks=100)
    for chi, mean, error in agreement(name, 4, 128, 100).values():
        assert chi < 22
        assert abs(mean - exact) < 3 * error
        # The trial function alone is far outside of that.
        assert start.energy - exact > 5 * error


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SYSTEMS))
def test_one_electron_ground_states_closely(name):
    """Twelve long runs: χ² between the values that 999 of 1000 exceed and are exceeded by."""
    exact = SYSTEMS[name][1]
    for chi, mean, error in agreement(name, 12, 512, 200).values():
        assert 2.2 < chi < 34
        assert error < 5e-4
        assert abs(mean - exact) < 3 * error


def test_an_exact_trial_function_has_no_noise():
    out = dmc(SlaterJastrow(Trap(frequency=1.0)), timestep=0.05, walkers=512, blocks=10, steps=20)
    assert out.energy == pytest.approx(1.5, abs=1e-12)
    assert out.variance < 1e-20
    assert out.estimate("population").mean == pytest.approx(512)


def test_the_effective_time_step_is_shorter_than_the_nominal_one():
    out = dmc(SlaterJastrow(Trap(frequency=1.0)), timestep=0.05, walkers=512, blocks=10, steps=20)
    effective = out.estimate("effective_timestep").mean
    assert 0.9 * 0.05 < effective < 0.05
    assert out.acceptance > 0.98


def blocks_of_one_step(psi, timestep, trial, count, past=0.0, walkers=64):
    """States and records of the first blocks, without any equilibration."""
    first = variational.first_state(psi, walkers, seeded(0), jnp.float64)
    state = diffusion.blank_state(first, jnp.asarray(trial))
    states, records = [eqx.tree_at(lambda s: s.past, state, state.past.at[-2:].set(past))], []
    context = diffusion.Context(
        psi, jnp.asarray(timestep), jnp.asarray(1, jnp.int32), jnp.asarray(False), (), jnp.float64
    )
    for _ in range(count):
        state, record = diffusion.step(context, states[-1])
        states.append(state)
        records.append(record)
    assert states[-1].counts.combs == 0
    return states, records


def test_weights_are_those_of_the_local_energies():
    """w' = w e^{−τ((E + E')/2 − E_T)} over its mean, and the mean weights of the past count."""
    psi, trial, past = SlaterJastrow(Trap(frequency=1.0, width=0.95)), 1.45, 0.03
    states, records = blocks_of_one_step(psi, 0.02, trial, 2, past)
    grown = [past, past]
    for before, after, record in zip(states, states[1:], records, strict=False):
        mean = 0.5 * (before.energies + after.energies)
        logs = before.log_weights - record["effective_timestep"] * (mean - trial)
        growth = float(np.log(np.mean(np.exp(logs))))
        np.testing.assert_allclose(after.log_weights, logs - growth, rtol=0, atol=1e-13)
        assert record["log_weight"] == pytest.approx(sum(grown) + growth, abs=1e-13)
        rate = trial - growth / float(record["effective_timestep"])
        assert record["growth_energy"] == pytest.approx(rate, abs=1e-10)
        grown.append(growth)
        np.testing.assert_allclose(after.past[-len(grown) :], grown, atol=1e-13)
    assert abs(grown[-1]) > 1e-4  # there was something to see


def before_a_step(psi, log_weights, trial, energies=None):
    first = variational.first_state(psi, len(log_weights), seeded(0), jnp.float64)
    state = diffusion.blank_state(first, jnp.asarray(trial))
    energies = state.energies if energies is None else jnp.asarray(energies)
    given = jnp.asarray(log_weights), energies
    return eqx.tree_at(lambda s: (s.log_weights, s.energies), state, given)


def one_step(psi, timestep, state):
    context = diffusion.Context(
        psi, jnp.asarray(timestep), jnp.asarray(1), jnp.asarray(False), (), jnp.float64
    )
    return jax.jit(lambda s: diffusion._time_step(context, s))(state)


def test_walkers_that_are_drawn_anew_bring_their_energies():
    """The next weights are those of E(R) of the walkers that are there then."""
    psi, rare = SlaterJastrow(Trap(frequency=1.0, width=0.7)), 1e-3
    weights = np.array([4.0, 3.0, rare, rare, rare, rare, 0.9, rare])
    after, _, _ = one_step(psi, 0.01, before_a_step(psi, np.log(weights / weights.mean()), 1.5))
    assert int(after.counts.combs) == 1
    anew = variational.everything(psi, after.walkers, (), jax.random.PRNGKey(0), jnp.float64)
    np.testing.assert_allclose(after.energies, anew[0]["energy"], rtol=1e-10)
    assert np.unique(np.round(after.energies, 9)).size < len(weights)  # some are there twice


def test_local_energies_are_held_near_the_trial_energy():
    """Within 0.2 √(N/τ), before a step and after it."""
    psi, tau, trial = SlaterJastrow(Trap(frequency=1.0, width=0.95)), 0.02, 1.45
    odd = np.array([trial + 50.0, trial - 50.0, *[trial] * 6])
    after, record, grown = one_step(psi, tau, before_a_step(psi, np.zeros(8), trial, odd))
    assert int(after.counts.combs) == 0
    limit = 0.2 * np.sqrt(1 / tau)
    held = [trial + np.clip(np.asarray(e) - trial, -limit, limit) for e in (odd, after.energies)]
    logs = -float(record["effective_timestep"]) * (np.mean(held, axis=0) - trial)
    np.testing.assert_allclose(after.log_weights, logs - float(grown), rtol=0, atol=1e-12)


def test_determinants_are_computed_anew_every_fifty_steps():
    """What rounding has done to an inverse until then is gone, and a step later still there."""
    psi = SlaterJastrow(ElectronGas(2, 1.0), [U(order=4)])
    state = before_a_step(psi, np.zeros(4), 0.0)
    spoilt = jax.tree.map(
        lambda x: x * (1 + 1e-4) if jnp.issubdtype(x.dtype, jnp.floating) else x, state.walkers
    )
    spoilt = eqx.tree_at(lambda w: w.r, spoilt, state.walkers.r)
    off = {}
    for done in (diffusion.REFRESH - 1, diffusion.REFRESH):
        begun = eqx.tree_at(
            lambda s: (s.walkers, s.counts.steps), state, (spoilt, jnp.asarray(done))
        )
        after = one_step(psi, 0.01, begun)[0].walkers
        anew = variational.refresh(psi, after, jnp.float64)[0]
        gaps = jax.tree.map(lambda a, b: float(jnp.max(jnp.abs(a - b))), after, anew)
        off[done] = max(jax.tree.leaves(gaps))
    assert off[diffusion.REFRESH - 1] < 1e-10 < 1e-6 < off[diffusion.REFRESH]


def test_a_walker_of_weight_three_counts_as_three():
    """Energy, its parts and its variance of walkers with whole weights, and of as many copies."""
    rng = np.random.default_rng(7)
    weights = np.array([0, 1, 3, 5] * 8)
    values = {name: rng.normal(size=32) for name in ("energy", "kinetic")}
    found, sums = variational.averaged(
        {name: jnp.asarray(value) for name, value in values.items()},
        {"weight": jnp.asarray(weights, jnp.float64)},
    )
    copies = {name: np.repeat(value, weights) for name, value in values.items()}
    assert float(sums["weight"]) == len(copies["energy"])
    for name, value in copies.items():
        assert float(found[name]) == pytest.approx(np.mean(value), rel=1e-12)
    assert float(found["variance"]) == pytest.approx(np.var(copies["energy"]), rel=1e-12)
    assert abs(np.var(values["energy"]) / np.var(copies["energy"]) - 1) > 0.01


def test_the_mean_weight_of_a_block_grows_step_by_step():
    """Three steps in one block are the average of three blocks of one, by the weights e^{Σ growth}
    that these have at their ends."""
    psi, trial = SlaterJastrow(Trap(frequency=1.0, width=0.8)), 1.2
    states, records = blocks_of_one_step(psi, 0.1, trial, 3)
    weights = np.exp([float(record["log_weight"]) for record in records])
    assert np.ptp(weights) > 0.05  # there was something to see
    context = diffusion.Context(
        psi, jnp.asarray(0.1), jnp.asarray(3, jnp.int32), jnp.asarray(False), (), jnp.float64
    )
    after, record = diffusion.step(context, states[0])
    np.testing.assert_array_equal(after.walkers.r, states[-1].walkers.r)
    # Sums of three numbers, but for rounding.
    assert float(record["log_weight"]) == pytest.approx(np.log(np.mean(weights)), abs=1e-13)
    for name in ("energy", "effective_timestep"):
        mean = np.average([float(one[name]) for one in records], weights=weights)
        assert float(record[name]) == pytest.approx(mean, rel=1e-12)


def test_walkers_without_weight_are_not_drawn_again():
    """Three of four weigh nothing: what is drawn are copies of the others."""
    psi = SlaterJastrow(Trap(frequency=1.0, width=0.95))
    first = variational.first_state(psi, 64, seeded(0), jnp.float64)
    state = diffusion.blank_state(first, jnp.asarray(1.5))
    light = jnp.where(jnp.arange(64) % 4 > 0, -40.0, 0.0)
    state = eqx.tree_at(lambda s: s.log_weights, state, light)
    context = diffusion.Context(
        psi, jnp.asarray(0.02), jnp.asarray(1, jnp.int32), jnp.asarray(False), (), jnp.float64
    )
    after, _ = diffusion.step(context, state)
    assert after.counts.combs == 1
    assert len(np.unique(np.asarray(after.walkers.r).reshape(64, -1), axis=0)) == 16
    # Their numbers stand for the weights from now on, which must not count twice.
    np.testing.assert_array_equal(after.log_weights, 0)


def test_no_walker_crosses_a_node():
    psi = SlaterJastrow(ElectronGas(14, 1.0), [U(order=4)])
    states, _ = blocks_of_one_step(psi, 0.05, 6.0, 3)
    assert states[-1].counts.crossed > 0  # some tried
    np.testing.assert_array_equal(states[-1].walkers.phase, states[0].walkers.phase)


@pytest.mark.parametrize("frozen", [pytest.param(1, marks=pytest.mark.slow), 8])
def test_stuck_walkers_are_replaced_at_once(monkeypatch, frozen):
    """Without variance all weights stay 1, so that only the stuck walkers call for the comb."""
    psi = SlaterJastrow(Trap(frequency=1.0))
    moving = diffusion.sweep

    def sweep(psi, dynamics, walkers, key, dtype):
        moved, tally = moving(psi, dynamics, walkers, key, dtype)
        held = jnp.arange(8) < frozen
        keep = lambda a, b: jnp.where(held.reshape(-1, *(1,) * (a.ndim - 1)), a, b)  # noqa: E731
        moved = jax.tree.map(keep, walkers, moved)
        return moved, tally._replace(accepted=jnp.where(held, 0, jnp.maximum(tally.accepted, 1)))

    monkeypatch.setattr(diffusion, "sweep", sweep)
    first = variational.first_state(psi, 8, seeded(0), jnp.float64)
    state = diffusion.blank_state(first, jnp.asarray(1.5))
    state = eqx.tree_at(
        lambda s: (s.energies, s.age), state, (jnp.full(8, 1.5), jnp.full(8, STUCK - 2))
    )
    context = diffusion.Context(
        psi, jnp.asarray(0.05), jnp.asarray(1), jnp.asarray(False), (), jnp.float64
    )
    step = jax.jit(lambda s: diffusion._time_step(context, s)[0])
    state = step(state)
    assert (int(state.counts.stuck), int(state.counts.combs)) == (0, 0)
    held = np.asarray(state.walkers.r[0])
    state = step(state)
    assert int(state.counts.stuck) == frozen
    if frozen == 8:  # nothing to replace them with: no finite weight, for the guard to see
        assert not np.any(np.isfinite(state.log_weights))
        return
    assert int(state.counts.combs) == 1
    np.testing.assert_array_equal(state.log_weights, 0)
    assert not np.any(np.all(np.asarray(state.walkers.r) == held, axis=(1, 2)))
    assert int(step(state).counts.stuck) == frozen  # counted once


def test_the_comb_copies_in_proportion_to_weight():
    weights = jnp.asarray([0.2, 3.0, 0.0, 0.8, 1.0])
    counts = np.zeros(5)
    draws = 4000
    pick = jax.jit(lambda key, weights: comb(key, weights, jnp.arange(5)))
    for seed in range(draws):
        chosen = np.bincount(np.asarray(pick(jax.random.PRNGKey(seed), weights)), minlength=5)
        assert chosen.sum() == 5
        # Systematic: each count is the expected number rounded up or down.
        assert np.all(np.abs(chosen - np.asarray(weights)) < 1)
        counts += chosen
    np.testing.assert_allclose(counts / draws, weights, atol=4 * 0.5 / np.sqrt(draws))


def test_extrapolation_to_zero_time_step():
    tau = np.array([0.01, 0.02, 0.04])
    energies = (-0.5 + 0.3 * tau).tolist()
    energy, error, chi = extrapolate(tau.tolist(), energies, [1e-4, 1e-4, 2e-4])
    assert energy == pytest.approx(-0.5, abs=1e-12)
    assert 1e-4 < error < 4e-4
    assert chi < 1e-12
    with pytest.raises(checks.InputError, match="must be at least 2"):
        extrapolate([0.1], [1.0], [0.1])
    for wrong in (math.inf, math.nan, 0.0):  # short runs have infinite ones
        with pytest.raises(checks.InputError, match="errors: must be positive and finite"):
            extrapolate([0.1, 0.2], [1.0, 2.0], [0.1, wrong])
    with pytest.raises(checks.InputError, match="energies: must be finite, but are"):
        extrapolate([0.1, 0.2], [1.0, math.nan], [0.1, 0.1])
    with pytest.raises(checks.InputError, match="timesteps: must not be negative, but are"):
        extrapolate([-0.1, 0.2], [1.0, 2.0], [0.1, 0.1])


def test_an_extrapolation_that_does_not_fit_has_a_wider_error():
    """Off by ∓δ at the ends and ±δ/… in the middle: χ² is a hundred times as large as it may be."""
    tau, errors = [0.01, 0.02, 0.03], [1e-4] * 3
    # Residuals of a line through three points lie along (1, −2, 1)/√6.
    off = 1e-4 * np.array([1, -2, 1]) / np.sqrt(6)
    good, bad = (extrapolate(tau, (-0.5 + size * off).tolist(), errors) for size in (0.5, 10.0))
    assert good[2] == pytest.approx(0.25) and bad[2] == pytest.approx(100.0)
    assert bad[1] == pytest.approx(10 * good[1])


@pytest.mark.parametrize(
    ("system", "extent"),
    [
        (ElectronGas(14, 1.0), 4.0),
        (ElectronGas(14, 4.0), 16.0),
        (Trap(frequency=1.0, dimension=2), 4.0),
    ],
    ids=["gas", "dilute gas", "plane"],
)
def test_electrons_diffuse_over_the_system_before_anything_is_measured(system, extent):
    """⟨R²⟩ = d·t: four distances take 16 times as long as one. Whole blocks of ten steps."""
    dimension, tau = system.dimension, 0.005
    blocks = usual_equilibration(SlaterJastrow(system), tau, 10)
    assert 0 <= blocks * 10 * tau * dimension - extent**2 < 10 * tau * dimension


def test_an_absurd_time_step_is_refused():
    psi = SlaterJastrow(ElectronGas(14, 2.0), [U(order=4)])
    with pytest.raises(checks.InputError, match=r"timestep: must not exceed 1.33, .* but is 5"):
        dmc(psi, timestep=5.0)


@pytest.mark.slow
def test_correlation_of_the_gas_of_14():
    """r_s = 5: optimized u + p reach 85 % of what DMC finds below Hartree–Fock."""
    from zitter.qmc import LinearMethod, P, VarianceMinimization, optimize

    gas = ElectronGas(14, 5.0)
    psi = SlaterJastrow(gas, [U(order=6), P(stars=3)])
    psi = optimize(psi, VarianceMinimization(2), walkers=256).wavefunction
    psi = optimize(psi, LinearMethod(3), walkers=256).wavefunction
    variational = vmc(psi, walkers=256, blocks=200)
    steps = (0.25, 0.5, 1.0)
    runs = [dmc(psi, timestep=tau, walkers=256, blocks=100) for tau in steps]
    energies, errors = [r.energy for r in runs], [r.energy_error for r in runs]
    limit, error, _ = extrapolate(steps, energies, errors)
    exact = gas.hartree_fock()[0]
    assert variational.energy > limit - 3 * error
    assert (exact - variational.energy) / (exact - limit) > 0.85
    # The bias of the largest step is small: the limited drift and energy keep it linear.
    assert abs(energies[-1] - limit) < 1e-3


def test_an_energy_that_was_limited_too_often_is_disowned():
    often, rarely = (notes(Counts(100.0, 0.0, n, 0.0, 0.0), 256, 14, 0.1) for n in (2000.0, 20.0))
    assert any("too large for this energy" in note for note in often)
    assert not any("too large" in note for note in rarely)


def test_what_no_error_bar_holds_is_said():
    """Steps and walkers, to people, to programs and in files; VMC has neither error."""
    psi = SlaterJastrow(SYSTEMS["harmonic trap"][0])
    found = dmc(psi, 0.05, walkers=8, blocks=4, steps=1, equilibration=2)
    (note,) = [one for one in found.notes if one.startswith("error bars are statistical")]
    assert "the time step of 0.05 and the number of walkers, 8, add errors" in note
    assert "compare with 0.025 " in note and note.endswith("with 16 walkers")
    assert note in found.numbers()["notes"] and f"note: {note}" in found.summary()
    assert note in found.info["notes"]
    assert not any("statistical" in one for one in vmc(psi, 8, 4, stride=1).notes)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [20, 60])
def test_few_walkers_have_honest_error_bars(blocks):
    """64 walkers that forget in 50 blocks: of series alone two in five had no error bar, and of the
    others three in four held the truth within two. Of 150 runs, ± 3.8 and 1.7 % by chance."""
    psi = SlaterJastrow(SYSTEMS["harmonic trap"][0])
    runs = [dmc(psi, 0.01, 64, blocks, steps=2, seed=seed) for seed in range(150)]
    assert all(run.estimate().groups == 8 for run in runs)
    pulls = np.array([abs(run.energy - 1.5) / run.energy_error for run in runs])
    assert 0.6 < np.mean(pulls < 1) < 0.83 and np.mean(pulls < 2) > 0.9
