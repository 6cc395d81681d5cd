"""Runs that lose what nothing absorbs are stopped; steps too long and grids too small are named."""

import contextlib
import functools
import re
import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter import loop, solve, together
from zitter.bases.edges import ConvergenceWarning
from zitter.hamiltonian import Driven, Hamiltonian
from zitter.linalg.dense import Dense
from zitter.solve.guards import (
    Account,
    AccuracyWarning,
    stride,
    warn_of_spoilt_norm,
    warn_of_steps,
)

GRID = zt.Grid(128, 0.3)
X = GRID.points(0)


def packet(width, momentum, place=0.0):
    psi = np.exp(-(((X - place) / width) ** 2) / 2 + 1j * momentum * X)
    return GRID.normalize(jnp.asarray(psi))


def hamiltonian(*terms):
    return zt.discretize(zt.Model([zt.Kinetic(), *terms]), GRID)


@pytest.mark.parametrize(
    ("method", "dt"), [(zt.Taylor(3), 0.02), (zt.Taylor(4), 0.03), (zt.RungeKutta4(), 0.03)]
)
def test_explicit_methods_that_damp_fast_waves_are_stopped(method, dt):
    """Stable, since nothing grows, and yet the state would be gone at the end."""
    H = hamiltonian(zt.Harmonic(0.3))
    with pytest.raises(zt.RunError, match=r"\d+% of the probability was lost by t = .*smaller dt"):
        zt.evolve(H, packet(0.15, 8.0), (0.0, 10.0), dt, method)


def test_a_small_loss_is_warned_of():
    H = hamiltonian(zt.Harmonic(0.3))
    with pytest.warns(AccuracyWarning, match=r"% of the probability was lost, by errors"):
        sol = zt.evolve(H, packet(0.15, 8.0), (0.0, 1.0), 0.013, zt.RungeKutta4())
    assert 0.01 < sol.info["norm_loss"] < 0.1
    step = ((0.0, 1.0), 0.013, zt.RungeKutta4())
    plans = [solve.prepare(hamiltonian(zt.Harmonic(w)), np.complex128, *step) for w in (0.3, 0.31)]
    fast, slow = packet(0.15, 8.0), packet(1.5, 0.0)
    with pytest.warns(AccuracyWarning) as told:  # together with one that loses nothing
        found = together.carried(plans, [slow, fast])
    lost = [one.info["norm_loss"] for one in found if isinstance(one, zt.Solution)]
    assert lost[0] < 0.001 and 0.01 < lost[1] < 0.1
    expected = f"{lost[1]:.1%} of the probability was lost, by errors"
    said = [str(one.message) for one in told if issubclass(one.category, AccuracyWarning)]
    assert len(said) == 1 and said[0].startswith(expected)


def test_items_that_break_are_known_on_the_way(monkeypatch):
    """Beside one that is good, by the sentence of a single run; once all are broken it ends."""
    whole, damped = (0.0, 10.0), re.compile(r"\d+% of the probability was lost by t = (\S+): take")
    step = (whole, 0.03, zt.RungeKutta4(), (), 1)
    plans = [solve.prepare(hamiltonian(zt.Harmonic(w)), np.complex128, *step) for w in (0.3, 0.31)]
    fast, slow = packet(0.15, 8.0), packet(1.5, 0.0)
    broken, good = together.carried(plans, [fast, slow])
    assert isinstance(broken, zt.RunError) and isinstance(good, zt.Solution)
    when = damped.match(str(broken))
    assert when and float(when[1]) < 5.0
    np.testing.assert_allclose(good.final, plans[1].run(slow).final, atol=1e-12)
    counts, segment = [], loop.segment
    monkeypatch.setattr(loop, "segment", lambda *a: counts.append(int(a[-1])) or segment(*a))
    both = together.carried(plans, [fast, fast])
    assert all(isinstance(one, zt.RunError) and damped.match(str(one)) for one in both)
    assert sum(counts) < plans[0].records


@pytest.mark.slow
def test_items_whose_method_gives_up_are_known_on_the_way():
    """Its own sentence, which names a step that would do."""
    count = 80
    coupling = np.random.default_rng(0).normal(size=(count, count))

    def driven(amplitude):
        pulse = zt.SineSquared(amplitude=amplitude, frequency=0.5, cycles=3)
        drive = zt.DrivenMatrix(coupling + coupling.T, pulse=pulse)
        model = zt.Model([zt.Matrix(np.linspace(0.0, 3.0, count)), drive])
        H = zt.discretize(model, zt.Levels(count))
        return solve.prepare(H, np.complex128, (0.0, 4.0), 0.2, zt.CrankNicolson(), (), 2)

    psi = np.eye(count)[0] + 0j
    good, broken = together.carried([driven(1e-3), driven(300.0)], [psi] * 2)
    assert isinstance(good, zt.Solution)
    assert re.match(r"BiCGSTAB did not reach .* at t = 0.* take dt = .* converges", str(broken))


@pytest.mark.filterwarnings("error")
def test_of_a_vanishing_state_nothing_can_be_lost():
    """A traced run cannot refuse it; the other points of the scan stay."""
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), zt.Grid(32, 0.4))
    psi = H.basis.normalize(jnp.exp(-0.5 * jnp.asarray(H.basis.points(0)) ** 2))
    end = lambda a: H.basis.norm(zt.evolve(H, a * psi, (0, 0.1), 0.05, zt.Taylor(8)).final)  # noqa: E731
    np.testing.assert_allclose(zt.scan(end, a=[0.0, 1.0]), [0.0, 1.0], atol=1e-6)


def test_a_scan_tells_of_points_that_lost_their_norm():
    """In the words that end a run alone; of those that lost little in the words that warn of it.
    Two points at a time: they are numbered through."""

    def norm(p, shift):
        psi = GRID.normalize(jnp.exp(-((X / 0.6) ** 2) / 2 + 1j * p * X + shift))
        run = zt.evolve(hamiltonian(), psi, (0.0, 1.5), 0.025, zt.RungeKutta4(), [zt.Norm()], 50)
        return run.observables["norm"][-1]

    given = {"p": [0.0, 8.0, 0.5, 9.0, 5.5], "shift": [0.0, 0.0, 0.0, 0.0, 0.0]}
    with pytest.warns(AccuracyWarning) as told:
        kept = zt.scan(norm, 2, **given)
    said = [str(one.message) for one in told if issubclass(one.category, AccuracyWarning)]
    lost = 1 - np.asarray(kept) ** 2
    advice = "take a smaller dt, or a method that keeps the norm, such as Lanczos or CrankNicolson"
    assert said == [
        f"{lost[3]:.0%} of the probability was lost by t = 1.5: {advice} "
        "(item 3: p=9, shift=0; the worst of items 1, 3)",
        f"{lost[4]:.1%} of the probability was lost, by errors of the steps: take a smaller dt "
        "(item 4: p=5.5, shift=0)",
    ]
    with pytest.warns(AccuracyWarning, match=r"^The state became infinite.*t = 1.5.*\(item 1: "):
        zt.scan(norm, p=[0.0, 1.0], shift=[0.0, 1e4])  # e^shift is none


@pytest.mark.parametrize(("fed", "sentence"), [(0.0, "norm grew from 1 to 1.06"), (0.15, None)])
def test_what_comes_for_no_reason_ends_the_run(fed, sentence):
    """Rounding to 10 bits may feed a state; so may a term of H, and that is accounted for."""
    found = Account.of(hamiltonian()).problem(2.0, 1.0, 1.06, -fed)
    assert found is None if sentence is None else sentence in str(found)
    assert Account.of(hamiltonian()).problem(2.0, 1.0, 1.04, None) is None
    with pytest.warns(AccuracyWarning, match=r"2.0% of the probability was won, by errors"):
        warn_of_spoilt_norm(hamiltonian(), 1.0, 1.01, None)


@pytest.mark.parametrize("save_every", [1, 7, 400])
@pytest.mark.parametrize("absorber", [zt.ComplexAbsorber(8.0), zt.MaskAbsorber(8.0)])
def test_what_absorbers_take_is_accounted_for(absorber, save_every):
    """A packet that leaves: all of it is gone, and known to be, however seldom it is recorded."""
    H, split = hamiltonian(absorber), zt.SplitOperator()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sol = zt.evolve(H, packet(1.4, 4.0), (0.0, 20.0), 0.05, split, save_every=save_every)
    assert sol.info["norm_loss"] > 0.99
    # The rate of a complex potential is sampled; a mask is counted exactly.
    limit = 0.004 if isinstance(absorber, zt.ComplexAbsorber) else 1e-9
    assert abs(sol.info["absorbed"] - sol.info["norm_loss"]) < limit


@pytest.mark.parametrize("absorber", [zt.ComplexAbsorber(8.0), zt.MaskAbsorber(8.0)])
def test_absorbers_are_no_excuse(absorber):
    """The same loss by the steps, in a packet that has not reached the absorber."""
    H = hamiltonian(absorber)
    with pytest.raises(zt.RunError, match=r"lost by t = .* beside what absorbers account for"):
        zt.evolve(H, packet(1.4, 9.0), (0.0, 1.0), 0.04, zt.Taylor(4))


def test_the_count_of_what_is_absorbed_is_of_second_order():
    """−ix² on a packet: halving the step leaves a quarter of the error."""
    grid = zt.Grid(101, 0.3)
    potential = zt.Potential(lambda x: -1j * x**2)
    H = zt.discretize(zt.Model([zt.Kinetic(), potential]), grid)
    x = grid.points(0)
    psi = grid.normalize(jnp.asarray(np.exp(-((x - 1) ** 2) + 0j)))
    errors = []
    for dt in (0.02, 0.01, 0.005):
        sol = zt.evolve(H, psi, (0.0, 0.96), dt, zt.Lanczos(12), save_every=4)
        errors.append(abs(sol.info["absorbed"] - sol.info["norm_loss"]))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(orders - 2) < 0.2), (errors, orders)


def test_more_absorbed_than_was_lost_is_told_as_well():
    """What the steps bring may be hidden by what absorbers take: the norm falls all the same. It
    may also be a count too coarse for a strong absorber, which must not end a good run."""
    H = hamiltonian(zt.ComplexAbsorber(8.0))
    assert Account.of(H).lost(1.0, 1.0, 0.5) == pytest.approx(-0.4)
    assert Account.of(H).lost(1.0, np.sqrt(0.55), 0.5) == 0.0  # as well as it is counted
    assert Account.of(H).problem(2.0, 1.0, np.sqrt(0.9), 0.5) is None
    with pytest.warns(AccuracyWarning, match="5.0% of the probability was won beside what abs"):
        warn_of_spoilt_norm(H, 1.0, np.sqrt(0.65), 0.5)


def test_nothing_is_allowed_for_beside_a_mask():
    """It is counted at each step: 5 % beside it are warned of, 15 % lost or won end the run."""
    H = hamiltonian(zt.MaskAbsorber(8.0))
    with pytest.warns(AccuracyWarning, match="5.0% of the probability was lost beside what abs"):
        warn_of_spoilt_norm(H, 1.0, np.sqrt(0.45), 0.5)
    assert Account.of(H).problem(2.0, 1.0, np.sqrt(0.45), 0.5) is None
    for left, sentence in ((0.35, "15% of the probability was lost"), (0.65, "15% .* was won")):
        found = Account.of(H).problem(2.0, 1.0, np.sqrt(left), 0.5)
        assert re.match(f"{sentence} by t = 2 beside what absorbers account for", str(found))


def test_decaying_levels_are_accounted_for():
    """H that is not Hermitian by itself, here e^{−Γt} with Γ = 0.5."""
    decay = Dense(jnp.diag(jnp.array([-0.25j, 1.0])), (2,), False)
    H = Hamiltonian(zt.Levels(2), decay)
    sol = zt.evolve(H, np.array([1.0, 0.0]), (0.0, 4.0), 0.01, zt.Lanczos(2))
    assert sol.info["norm_loss"] == pytest.approx(1 - np.exp(-2.0), abs=1e-9)
    assert sol.info["absorbed"] == pytest.approx(
        1 - np.exp(-2.0), rel=0.002
    )  # (hΓ)²/12, 16 steps apart


def test_walls_that_reflect_are_named():
    H, split = hamiltonian(), zt.SplitOperator()
    # It has come back to the middle by the end, but has been at the wall.
    with pytest.warns(ConvergenceWarning, match="the grid is too small: .* at its walls"):
        sol = zt.evolve(H, packet(1.4, 4.0), (0.0, 9.5), 0.05, split)
    assert sol.info["wall_population"] > 0.1
    periodic = zt.Grid(128, 0.3, "periodic")
    H = zt.discretize(zt.Model([zt.Kinetic()]), periodic)
    assert "wall_population" not in zt.evolve(H, packet(1.4, 4.0), (0.0, 1.0), 0.05, split).info


def test_population_at_the_walls_is_that_of_the_outermost_points():
    """Two of 100 points on each side of x, one of 20 on each side of y: 1 − 96/100 · 18/20."""
    grid = zt.Grid((100, 20), (0.2, 0.5))
    (wall,) = grid.edges(driven=False, open_end=True)
    flat = grid.normalize(jnp.ones(grid.shape))
    assert float(wall.population(flat)) == pytest.approx(1 - 0.96 * 0.9, rel=1e-12)
    assert grid.edges(driven=False, open_end=False) == ()


def test_steps_too_long_are_named_with_a_step_that_would_do():
    pulse = zt.SineSquared(amplitude=0.5, frequency=1.0, cycles=2)
    H = hamiltonian(zt.Harmonic(1.0), zt.LengthGauge(pulse))
    arguments = H, packet(1.0, 0.0), (0.0, 6.0), 0.5, zt.SplitOperator()
    with pytest.warns(AccuracyWarning, match=r"off by .* by the step size \(limit 0.001\): take"):
        sol = zt.evolve(*arguments, step_check=True, step_limit=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zt.evolve(*arguments, step_check=True, step_limit=2 * sol.info["step_error"])
    with pytest.raises(zt.InputError, match="step_limit: must be positive, but is -1"):
        zt.evolve(*arguments, step_limit=-1.0)


@pytest.mark.parametrize(("order", "advised"), [(1, "0.025"), (2, "0.1"), (4, "0.2")])
def test_the_advised_step_is_by_the_order_of_the_method(order, advised):
    """An error 16 times the limit asks for a 16th, a fourth or half of the step."""
    with pytest.warns(AccuracyWarning, match=f"take dt = {advised} or less$"):
        warn_of_steps([{"step_error": 0.032}], [2.0], 1e-3, 0.4, order)


@pytest.mark.parametrize(("order", "limit"), [(2, 3e-3), (4, 1e-6)])
def test_the_advised_step_leaves_an_error_of_the_limit(order, limit):
    """And none far below it: the advice has two digits, and ranges differ by the next order."""
    pulse = zt.SineSquared(amplitude=0.5, frequency=1.0, cycles=2)
    H = hamiltonian(zt.Harmonic(1.0), zt.LengthGauge(pulse))
    run = functools.partial(zt.evolve, H, packet(1.0, 0.0), (0.0, 6.0), step_check=True)
    with pytest.warns(AccuracyWarning) as told:
        run(0.25, zt.SplitOperator(order), step_limit=limit)
    advice = re.search(r"take dt = (\S+) or less", str(told[0].message))
    assert advice is not None
    found = run(float(advice[1]), zt.SplitOperator(order), step_limit=1.0).info["step_error"]
    assert 0.7 * limit < found < 1.2 * limit


@pytest.mark.parametrize("norm", [1e-2, 1.0, 10.0])
def test_errors_by_the_step_size_are_judged_beside_the_norm(norm):
    """Too long and good steps of the same run, whatever ψ is multiplied by."""
    pulse = zt.SineSquared(amplitude=0.5, frequency=1.0, cycles=2)
    H = hamiltonian(zt.Harmonic(1.0), zt.LengthGauge(pulse))
    run = functools.partial(
        zt.evolve, H, norm * packet(1.0, 0.0), (0.0, 6.0), 0.5, zt.SplitOperator(), step_check=True
    )
    with pytest.warns(AccuracyWarning, match="of its norm by the step size"):
        relative = run(step_limit=1e-3).info["step_error"] / norm
    assert 1e-3 < relative < 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(step_limit=1.01 * relative)


def test_the_own_estimate_of_a_method_is_heard_where_nobody_checks():
    H = hamiltonian(zt.Harmonic(1.0))
    with pytest.warns(AccuracyWarning, match=r"errors of the steps add up to .*: take a smaller"):
        zt.evolve(H, packet(0.3, 3.0), (0.0, 2.0), 0.2, zt.Lanczos(3))


@pytest.mark.parametrize("norm", [1e-2, 1.0])
def test_the_own_estimate_of_a_method_is_heard_where_two_wrong_runs_agree(norm):
    """Steps and those twice as long may lie near to each other, and far from the truth."""
    H = hamiltonian(zt.Harmonic(1.0))
    with pytest.warns(AccuracyWarning, match="is off by"):
        arguments = H, norm * packet(0.3, 3.0), (0.0, 2.0), 0.2, zt.Lanczos(3)
        sol = zt.evolve(*arguments, step_check=True)
    own = sol.info["error_estimate"]
    assert own > 0.05
    # Steps of Lanczos keep the norm, to which both belong.
    assert sol.info["step_error"] / norm >= own * (1 - 1e-6)
    assert sol.info["step_error"] / norm < 20 * own


def test_a_run_of_one_step_says_that_its_error_is_not_known():
    H = hamiltonian(zt.Harmonic(1.0))
    with pytest.warns(AccuracyWarning, match="is not known: it could not be checked .* one step"):
        zt.evolve(H, packet(1.0, 0.0), (0.0, 0.1), 0.1, step_check=True)


def test_samples_divide_the_steps_evenly():
    for steps in (1, 7, 16, 97, 100, 4096):
        assert steps % stride(steps) == 0 and stride(steps) <= 16
    assert stride(4096) == 16


@pytest.mark.parametrize("steps", [40, 43])
def test_a_stop_while_the_step_is_checked_ends_the_run(steps, tmp_path, monkeypatch):
    """All steps are saved by then; resumed, with a rest of steps or not, it checks once more."""
    H, asked = hamiltonian(zt.Harmonic(0.3)), []

    @contextlib.contextmanager
    def late():
        asked.append(0)
        yield lambda: len(asked) == 2  # the second loop is that of the check

    def run(**more):
        return zt.evolve(
            H, packet(1.0, 0.5), (0.0, 0.01 * steps), 0.01, zt.SplitOperator(), [zt.Norm()], 10,
            step_check=True, **more,
        )  # fmt: skip

    folder = tmp_path / "kept"
    with monkeypatch.context() as patch:
        patch.setattr(loop, "stop_signals", late)
        with pytest.raises(loop.Interrupted, match=r"were checked .*state is saved in .*kept\."):
            run(checkpoint=folder)
        asked.clear()
        with pytest.raises(loop.Interrupted, match="Nothing was saved"):
            run()
    whole, resumed = run(), run(checkpoint=folder, resume=True)
    np.testing.assert_array_equal(resumed.final, whole.final)
    np.testing.assert_array_equal(resumed.observables["norm"], whole.observables["norm"])
    assert resumed.info["step_error"] == whole.info["step_error"]


def test_whether_light_keeps_the_norm_is_found_once_for_each_kind(monkeypatch):
    """Guards ask at each record, and each item of a sweep asks again."""
    made = []
    at = Driven.at
    monkeypatch.setattr(Driven, "at", lambda self, t: made.append(t) or at(self, t))

    def driven(amplitude):
        pulse = zt.SineSquared(amplitude=amplitude, frequency=0.5, cycles=2)
        model = zt.Model([zt.Kinetic(), zt.SoftCoulomb(), zt.LengthGauge(pulse)])
        return zt.discretize(model, zt.Grid(40, 0.5))

    assert driven(0.01).hermitian
    first = len(made)
    assert driven(0.02).hermitian and driven(0.03).hermitian
    assert len(made) == first


@pytest.mark.parametrize("factor", [1.0, 1.0 + 0.1j])
def test_a_complex_factor_is_of_another_kind(factor):
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), zt.Grid(40, 0.5))
    factors = [lambda t: 1.0, lambda t: factor]
    found = [
        Hamiltonian(H.basis, H.fixed, (Driven(one, H.fixed),), origin=H.origin).hermitian
        for one in factors
    ]
    assert found == [True, factor.imag == 0]
