"""Records far apart keep nobody waiting: runs are saved, judged and stopped between them."""

from __future__ import annotations

import contextlib
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter import io, loop, segments, together
from zitter.solve import evolution, guards, requests, trials

GRID = zt.Grid(48, 0.5)
DT = 0.01


def hamiltonian(*terms):
    return zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(0.6), *terms]), GRID)


H = hamiltonian()
PSI = GRID.sample(lambda x: jnp.exp(-0.4 * (x - 0.6) ** 2) + 0j)


def run(steps, save_every, H=H, **options):
    observables = [zt.Norm(), zt.Position()]
    return zt.evolve(
        H, PSI, (0.0, DT * steps), DT, zt.SplitOperator(), observables, save_every, **options
    )


@contextlib.contextmanager
def stopped_after(looks, monkeypatch):
    """One step of the driver each time, and a signal after so many."""
    asked = itertools.count(1)
    with monkeypatch.context() as patch:
        patch.setattr(
            loop, "stop_signals", lambda: contextlib.nullcontext(lambda: next(asked) >= looks)
        )
        patch.setattr(loop, "decided", lambda stop, due, count: (stop, due, 1))
        yield


@pytest.mark.parametrize("steps", [1, 2, 100, 256, 257, 300, 1000, 1024, 99_990, 440_000, 2**30])
def test_parts_divide_what_lies_between_records(steps):
    part = guards.part(steps)
    assert steps % part == 0
    assert part == steps if steps <= 2 * guards.LOOKED else part <= guards.LONGEST
    assert part >= min(steps, guards.SHORTEST)


def test_a_number_that_nothing_divides_is_one_part():
    assert guards.part(1033) == 1033 and guards.part(2 * 1033) == 2 * 1033


def test_what_is_absorbed_is_counted_as_often_as_without_parts():
    """125 divides a thousand, too, and would be counted at every fifth step."""
    assert guards.part(1000) == 100
    assert guards.stride(guards.part(1000)) == guards.stride(1000) == 10


@pytest.mark.parametrize("steps", [2758, 10_007])
def test_ends_alone_have_parts_between_them(steps):
    """However many steps that are; a run that goes on has the same parts, if there are any."""
    for save_every in (steps, 10**9, 10**14):
        interval = requests.record_interval(save_every, steps)
        assert guards.part(interval) <= guards.LONGEST
        assert interval <= requests.MOST_APART
    assert requests.record_interval(1500, 1000) == requests.record_interval(1500, 3000) == 1500
    assert requests.record_interval(2758, 2758) == requests.record_interval(2758, 10**4) == 2758
    assert requests.record_interval(10_007, 10_007) == 128 * 79
    assert requests.record_interval(200, 100) == 100


@pytest.mark.parametrize("save_every", [1000, 1500])
def test_a_run_that_recorded_its_ends_goes_on(save_every, tmp_path):
    folder = tmp_path / "kept"
    run(1000, save_every, checkpoint=folder)
    longer = run(3000, save_every, checkpoint=folder, resume=True)
    np.testing.assert_array_equal(longer.times, run(3000, save_every).times)
    np.testing.assert_allclose(longer.final, run(3000, save_every).final, atol=1e-12)


@pytest.mark.parametrize(("steps", "save_every"), [(1000, 1000), (1000, 300), (900, 300)])
def test_what_is_measured_on_the_host_is_so_at_the_end(steps, save_every):
    observables = [zt.InstantaneousPopulations(n=2), zt.Density(every=2)]
    found = zt.evolve(H, PSI, (0.0, DT * steps), DT, zt.SplitOperator(), observables, save_every)
    for o in observables:
        times = found.times_of(o.name)
        assert (times[0], times[-1]) == (0.0, pytest.approx(DT * steps, rel=1e-14))
        assert len(found.observables[o.name]) == len(times) == len(set(times))


@pytest.mark.parametrize("steps", [900, 1000])
@pytest.mark.parametrize("save_states", [True, False])
def test_records_are_those_of_the_run_with_closer_ones(steps, save_states):
    far = run(steps, 300, save_states=save_states)
    close = run(steps, 100, save_states=True)
    chosen = [*range(0, 10, 3)][: steps // 300 + 1] + ([10] if steps == 1000 else [])
    np.testing.assert_allclose(far.times, close.times[chosen], rtol=1e-14)
    for name in ("norm", "position"):
        np.testing.assert_allclose(
            far.observables[name], close.observables[name][chosen], atol=1e-12
        )
    np.testing.assert_allclose(far.final, close.final, atol=1e-12)
    if save_states:
        np.testing.assert_allclose(far.states, close.states[chosen], atol=1e-12)


@pytest.mark.parametrize("save_every", [300, 10**9, 1000])
def test_a_run_is_stopped_between_records_and_resumes_to_the_same_bits(
    save_every, tmp_path, monkeypatch
):
    folder = tmp_path / "kept"
    part = guards.part(requests.record_interval(save_every, 1000))
    whole = run(1000, save_every, save_states=True, step_check=True)
    with (
        stopped_after(4, monkeypatch),
        pytest.raises(loop.Interrupted, match=f"stopped at {4 * part} of 1000 steps"),
    ):
        run(1000, save_every, save_states=True, step_check=True, checkpoint=folder)
    resumed = run(
        1000, save_every, save_states=True, step_check=True, checkpoint=folder, resume=True
    )
    for name in ("norm", "position"):
        np.testing.assert_array_equal(resumed.observables[name], whole.observables[name])
    np.testing.assert_array_equal(resumed.states, whole.states)
    np.testing.assert_array_equal(resumed.final, whole.final)
    assert resumed.info["step_error"] == whole.info["step_error"]


def test_saving_between_records_writes_no_empty_ones(tmp_path, monkeypatch):
    """Records in files stand at their times, and the state beside them counts them."""
    folder = tmp_path / "kept"
    with stopped_after(9, monkeypatch), pytest.raises(loop.Interrupted):
        run(1000, 300, checkpoint=folder, checkpoint_every=0.0)
    pieces = sorted(folder.glob("records-*.h5"))
    times = [io.read(piece).variables["time"].data for piece in pieces]
    assert [len(t) for t in times] == [1, 1, 1]
    np.testing.assert_allclose(np.concatenate(times), [0.0, 3.0, 6.0], atol=1e-12)


def test_what_spoils_a_run_is_found_between_records(monkeypatch):
    """A potential that turns infinite at t = 2: nobody waits for the end."""
    wrong = hamiltonian(zt.Potential(lambda x, t: x / jnp.where(t > 2.0, 0.0, 1.0) ** 2))
    sentence = r"became infinite or NaN before t = 2\.\d+, as H is at t = 2\.005"
    with stopped_after(100, monkeypatch), pytest.raises(zt.RunError, match=sentence):
        run(2000, 2000, H=wrong)


def test_what_spoilt_a_run_is_found_long_after_it():
    """A run that is judged rarely, since records are far apart and its steps take no time."""
    width = 0.05
    wrong = hamiltonian(zt.Potential(lambda x, t: x / jnp.where(abs(t - 20) < width, 0.0, 1.0)))
    with pytest.raises(zt.RunError, match=r"as H is at t = (19\.9|20)"):
        run(40_000, 10**9, H=wrong)


SEEN = []  # the time of each look


class Watched(zt.Norm):
    def evaluate(self, H, psi, t):
        jax.debug.callback(lambda t: SEEN.append(float(t)), t)
        return super().evaluate(H, psi, t)


def test_nothing_is_measured_between_records():
    """Of a single run, and of several that go together."""
    looks = [0.0, 3.0, 6.0, 9.0]
    SEEN.clear()
    zt.evolve(H, PSI, (0.0, 9.0), DT, zt.SplitOperator(), [Watched()], 300)
    jax.effects_barrier()
    np.testing.assert_allclose(sorted(SEEN), looks, atol=1e-9)
    SEEN.clear()
    plans = [
        evolution.prepare(H, complex, (0.0, 9.0), DT, zt.SplitOperator(), [Watched()], 300)
        for _ in range(2)
    ]
    first, second = together.carried(plans, [PSI, PSI])
    jax.effects_barrier()
    np.testing.assert_allclose(sorted(SEEN), np.repeat(looks, 2), atol=1e-9)
    alone = run(900, 300)
    for one in (first, second):
        np.testing.assert_allclose(one.final, alone.final, atol=1e-12)
        np.testing.assert_allclose(one.times, alone.times, rtol=1e-14)


def test_time_counts_looks_by_their_number(monkeypatch):
    """Parts of 1 s, and looks of 10 s before each fourth one."""

    def tried(self, context, state, parts):
        looks = int(state.steps) % context.save_every == 0
        return segments.Trial(parts * (1.0 + 10.0 * looks), 0)

    monkeypatch.setattr(segments.Program, "tried", tried)
    plan = evolution.prepare(H, complex, (0.0, 9.0), DT, zt.SplitOperator(), [zt.Norm()], 300)
    assert (plan.context.part, plan.parts, plan.looks) == (75, 12, 3)
    assert plan.tried(PSI).seconds == 12.0 + 3 * 10.0
    assert trials.interval(plan.context) == 75


def test_derivatives_go_through_runs_whose_ends_alone_are_recorded():
    def mean(k):
        free = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(k)]), GRID)
        sol = zt.evolve(free, PSI, (0.0, 3.0), DT, zt.SplitOperator(), save_every=10**9)
        assert sol.times.shape == (2,)
        return GRID.norm(sol.final - PSI)

    slope = (mean(0.601) - mean(0.599)) / 0.002
    assert float(jax.grad(mean)(0.6)) == pytest.approx(float(slope), rel=1e-4)
