"""Error bars of a series whose correlation is known exactly."""

from __future__ import annotations

import math
import re
import time
import tracemalloc

import numpy as np
import pytest
import scipy.signal
import scipy.stats

import zitter as zt
from marks import slow
from zitter.qmc import Samples, correlations, statistics
from zitter.qmc.optimized import Optimized, Stage
from zitter.qmc.statistics import autocorrelation_time, equilibration, reblock


def autoregressive(n: int, a: float, seed: int = 0) -> np.ndarray:
    """x_t = a x_{t−1} + noise of variance 1 − a²: variance 1, τ = (1 + a)/(1 − a)."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=n) * math.sqrt(1 - a * a)
    noise[0] = rng.normal()
    return np.asarray(scipy.signal.lfilter([1.0], [1.0, -a], noise))


@pytest.mark.parametrize("a", [0.0, 0.5, 0.9])
def test_error_bar_of_a_correlated_series(a):
    """Of 100 series: σ² = τ/n. No error is below that of one correlation time, whose first
    autocorrelation and variance are known to √((1 − a²)/n) and √(2(1 + a²)/(1 − a²)n). The larger
    of two estimates, one of which knows σ to a tenth, is 2 % too high in the median, and τ twice
    that and more; noise of these medians is 1 % and 3 %.
    """
    n, tau = 2**15, (1 + a) / (1 - a)
    exact = math.sqrt(tau / n)
    found = [reblock(autoregressive(n, a, seed)) for seed in range(100)]
    ratios = np.array([one.error for one in found]) / exact
    assert np.median(ratios) == pytest.approx(1.02, abs=0.03)
    noise = math.sqrt(1 / (1 - a * a) / n) + math.sqrt((1 + a * a) / (1 - a * a) / (2 * n))
    assert np.min(ratios) > 1 - 4 * noise and np.quantile(ratios, 0.9) < 1.2
    assert 0.98 < np.median([one.autocorrelation_time for one in found]) / tau < 1.2
    assert np.std([one.mean for one in found]) == pytest.approx(exact, rel=4 / math.sqrt(200))


def test_error_bars_cover_the_truth_as_often_as_they_should():
    """68 % of 200 runs within one error bar: binomial scatter is 3 %."""
    inside = 0
    for seed in range(200):
        estimate = reblock(autoregressive(2000, 0.8, seed))
        inside += abs(estimate.mean) < estimate.error
    assert 0.58 < inside / 200 < 0.78


@pytest.mark.parametrize(
    ("n", "a"),
    [(20, 0.5), (20, 0.9), slow(28, 0.7), (60, 0.7), slow(100, 0.9), slow(200, 0.7), (200, 0.0)],
)
def test_short_runs_have_honest_error_bars(n, a):
    """The whole chain, transient and reblocking, on short series: 1000 of each, ± 1.5 % by chance.

    The larger of two estimates is cautious where there is no correlation. Twenty samples that
    forget in twenty hold one independent number, of which nobody can tell the scatter.
    """
    pulls, unsaid = [], []
    for seed in range(1000):
        x = autoregressive(n, a, seed)
        estimate = reblock(x[equilibration(x) :])
        pulls.append(abs(estimate.mean) / estimate.error)
        if not estimate.note:
            unsaid.append(pulls[-1])
    assert 0.65 < np.mean(np.array(pulls) < 1) < 0.84
    assert np.mean(np.array(pulls) < 2) > (0.91 if n > 20 or a < 0.9 else 0.8)
    if len(unsaid) > 100:  # error bars that go without a note
        assert np.mean(np.array(unsaid) < 1) > 0.6


def test_many_columns_are_one_at_a_time():
    table = np.stack([autoregressive(40, a) for a in (0.0, 0.5, 0.95)], axis=1)
    means, errors = statistics.reblock_all(table)
    alone = [reblock(column) for column in table.T]
    np.testing.assert_allclose(errors, [statistics.judged(one).error for one in alone], rtol=1e-12)
    np.testing.assert_allclose(means, [one.mean for one in alone], rtol=0, atol=1e-15)


def test_error_bars_of_a_grid_take_little_time_and_memory():
    """A density on 24³ voxels and its spin: seconds of the processor, and little beside the table
    itself (4.4 MB, and as much for its residuals)."""
    table = np.random.default_rng(3).normal(size=(20, 2 * 24**3))
    tracemalloc.start()
    started = time.process_time()
    errors = statistics.reblock_all(table)[1]
    seconds, peak = time.process_time() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 8 and peak < 5 * table.nbytes
    assert np.median(errors) == pytest.approx(1 / math.sqrt(20), rel=0.3)


@pytest.mark.parametrize("freedom", [1, 3, 19, 100])
def test_the_error_bar_holds_its_share_of_what_is_likely(freedom):
    """Σ w P(|t| < σ/scale) = 68.3 % with scales a thousand times apart, by Student's t itself."""
    random = np.random.default_rng(freedom)
    weights = random.dirichlet(np.full(50, 0.1), size=200).T
    scales = random.uniform(-3.5, 3.5, size=weights.shape)
    error = correlations._quantile(weights, scales, freedom)
    exact = scipy.stats.t(freedom) if freedom < correlations.NORMAL else scipy.stats.norm
    held = np.sum(weights * (2 * exact.cdf(error / np.exp(scales)) - 1), axis=0)
    np.testing.assert_allclose(held, correlations.ONE, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("walkers", "groups"), [(15, 1), (16, 8), (64, 8), (128, 8), (256, 16), (4096, 32)]
)
def test_walkers_of_dmc_have_at_least_eight_groups(walkers, groups):
    assert statistics.group_count(walkers, relatives=True) == groups


@pytest.mark.parametrize("blocks", [20, 60])
def test_the_scatter_of_groups_knows_correlations_longer_than_the_run(blocks):
    """256 walkers that forget in 20 blocks: reblocking cannot see that within 20."""
    random, runs, walkers, a = np.random.default_rng(4), 1500, 256, 0.95
    groups = statistics.group_count(walkers, relatives=True)
    x = random.normal(size=(runs, walkers)) / np.sqrt(1 - a**2)
    series = []
    for _ in range(blocks):
        x = a * x + random.normal(size=x.shape)
        series.append(x.reshape(runs, groups, -1).mean(axis=2) / groups)
    table, shares = np.array(series), np.full((blocks, groups), 1 / groups)
    pulls, plain = [], []
    for run in np.moveaxis(table, 1, 0):
        residuals = statistics.group_residuals(run, shares, np.ones(blocks))
        found = statistics.reblock(run.sum(axis=1))
        plain.append(abs(found.mean) / found.error)
        pulls.append(abs(found.mean) / statistics.with_groups(found, residuals).error)
    inside = lambda p, k: np.mean(np.array(p) < k)  # noqa: E731
    assert abs(inside(pulls, 1) - 0.683) < 0.05 and abs(inside(pulls, 2) - 0.954) < 0.03
    assert inside(plain, 2) < 0.9  # which is why


def test_few_samples_have_students_error():
    """Four that show no correlation: t of 3 degrees of freedom, and a quarter of the variance goes
    with the mean."""
    x = np.array([1.0, -1.0, 1.0, -1.0])
    one, two = (scipy.stats.t.ppf(scipy.stats.norm.cdf(k), 3) for k in (1, 2))
    assert (one, two) == pytest.approx((1.1969, 3.3068), abs=1e-4)  # printed tables
    expected = x.std(ddof=1) / 2 / math.sqrt(1 - 1 / 4) * math.sqrt(one * two / 2)
    assert reblock(x).error == pytest.approx(expected, rel=1e-9)


def test_noise_beside_slow_waves():
    """Their share of the variance is a tenth and of the error nearly all: the first autocorrelation
    says nothing of it. 300 series, ± 2.7 and 1.2 % by chance."""
    pulls = []
    for seed in range(300):
        noise = np.random.default_rng(1000 + seed).normal(size=1000)
        found = reblock(autoregressive(1000, 0.95, seed) + 3 * noise)
        pulls.append(abs(found.mean) / found.error)
    assert 0.66 < np.mean(np.array(pulls) < 1) < 0.84
    assert np.mean(np.array(pulls) < 2) > 0.92


def test_a_walk_that_does_not_forget_has_no_error_bar():
    """A drift through all blocks: its length in correlation times is one, or less."""
    traces = {"energy": np.linspace(-0.667, -0.66, 20), "variance": np.full(20, 0.1)}
    found = Samples(traces, np.ones(20), 0, "hartree", {})
    assert found.energy_error == math.inf
    assert "rests on about 1 independent" in found.notes[0]


def test_a_drift_has_no_error_bar_in_a_table_either():
    """One column of a grid that has not forgotten its start, beside one that has."""
    table = np.stack([np.linspace(0, 1, 20), np.random.default_rng(0).normal(size=20)], axis=1)
    errors = statistics.reblock_all(table)[1]
    assert np.isinf(errors[0]) and 0.1 < errors[1] < 0.5
    assert statistics.independent_samples(table) < 1.1
    assert (
        statistics.independent_samples(np.full((20, 3), 2.0)) == math.inf
    )  # and none of a constant


def test_error_bars_without_groups_of_walkers_are_noted():
    """The energy has groups; its variance and its growth have the blocks alone, and 0.9ⁿ of 20."""
    traces = {
        "energy": autoregressive(20, 0.5), "growth_energy": autoregressive(20, 0.9, 1),
        "variance": autoregressive(20, 0.9, 2), "acceptance": np.full(20, 0.5),
    }  # fmt: skip
    places = np.linspace(-0.1, 0.1, 8)
    found = Samples(traces, np.ones(20), 0, "hartree", {}, scatter={"energy": places})
    assert not found.estimate().note and len(found.notes) == 1
    expected = (
        r"the error bars of growth energy, variance rest on as few as \d+ independent stretches"
    )
    assert re.match(expected, found.notes[0])
    assert found.numbers()["notes"] == found.notes
    white = {name: autoregressive(400, 0.0, seed) for seed, name in enumerate(traces)}
    assert not Samples(white, np.ones(400), 0, "hartree", {}).notes


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0, 0.0, 1.0], [0.0, 0.0], [-1.0, 0.5]], ids=str)
def test_weights_that_weigh_nothing_are_refused(weights):
    with pytest.raises(zt.InputError, match="weights: must be 2 numbers with a positive sum"):
        reblock([1.0, 2.0], weights)


@pytest.mark.parametrize("a", [0.0, 0.6, 0.9])
def test_autocorrelation_time(a):
    tau = (1 + a) / (1 - a)
    n = 400_000
    # Madras and Sokal's relative noise √(2(2M+1)/n) with the window M = 5τ, three times over: 9 %
    # for the longest τ. Cutting the sum at 5τ costs e^{−10} at most.
    noise = math.sqrt(2 * (10 * tau + 1) / n)
    assert autocorrelation_time(autoregressive(n, a)) == pytest.approx(tau, rel=3 * noise)


def test_weights_of_a_ratio():
    rng = np.random.default_rng(4)
    w = rng.uniform(0.5, 1.5, 4096)
    x = rng.normal(size=4096)
    estimate = reblock(x, w)
    assert estimate.mean == pytest.approx(np.sum(w * x) / np.sum(w))
    residual = w * (x - estimate.mean) / w.mean()
    assert estimate.naive == pytest.approx(residual.std(ddof=1) / 64, rel=1e-12)
    # The error of the ratio is that of the mean of its residuals, whatever it rests on.
    assert estimate.error == pytest.approx(reblock(residual).error, rel=1e-12)
    # They are independent: at least their own scatter, and 1/√(2·256) or two of it above that.
    assert 0.98 < estimate.error / estimate.naive < 1.1


def test_the_transient_is_found():
    n, length = 1000, 100
    t = np.arange(n)
    x = autoregressive(n, 0.3) + 30 * np.exp(-t / 20)
    start = equilibration(x)
    # The transient is below the noise of one sample after 20·ln 30 = 68 steps.
    assert 40 <= start <= 3 * length
    # Without a transient nothing is dropped: 4σ, and some freedom in choosing what to look at.
    dropped = sum(equilibration(autoregressive(100, 0.3, seed)) > 0 for seed in range(200))
    assert dropped <= 4


@pytest.mark.parametrize(("variance", "acceptance"), [(0.3, 0.5), (0.0, 0.0)])
def test_walkers_that_stand_still_have_no_error_bar(variance, acceptance):
    """Few walkers, none of which moved: equal energies are not exact ones."""
    constant = {"energy": 2.05, "kinetic": 0.4, "variance": variance, "acceptance": acceptance}
    traces = {name: np.full(4, value) for name, value in constant.items()}
    places = np.linspace(0.02, 0.1, 8) * (-1) ** np.arange(8)  # different ones, so groups differ
    scatter = {"energy": places, "kinetic": places}
    found = Samples(traces, np.ones(4), 0, "hartree", {}, scatter=scatter)
    assert found.energy_error == found.parts["kinetic"].error == math.inf
    assert "rests on about 1 independent" in found.notes[0]
    exact = Samples(traces | {"variance": np.full(4, 1e-28), "acceptance": np.ones(4)},
                    np.ones(4), 0, "hartree", {}, scatter={"energy": np.zeros(8)})  # fmt: skip
    assert exact.energy_error == 0 and not exact.notes


def test_a_constant_series_has_no_error():
    estimate = reblock(np.full(64, 3.5))
    assert (estimate.mean, estimate.error) == (3.5, 0.0)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (-0.514378, 0.00021, "-0.51438(21)"),
        (12.3, 1.1, "12.3(11)"),
        (1.0, 0.0, "1(0)"),
        # Errors below rounding: a double has 15 digits and no more.
        (0.04483651471017385814, 5.4e-19, "0.0448365147101739(1)"),
        (-1234.5, 3e-14, "-1234.50000000000(1)"),
        (0.0, 5.4e-19, "0.00000000000000000000(54)"),
    ],
)
def test_short_form(value, error, text):
    assert statistics.with_error(value, error) == text


def test_programs_are_told_every_error_that_people_are():
    """Of variance, growth energy and time step in DMC; of the variance in an optimization."""
    rng = np.random.default_rng(0)
    names = ("energy", "growth_energy", "variance", "acceptance", "effective_timestep")
    # Each of another scale, so that none can stand for another.
    traces = {name: rng.normal(1.0 + k, 0.1 * 2**k, 64) for k, name in enumerate(names)}
    found = Samples(traces, np.ones(64), 0, "hartree", {"method": "DMC"}).numbers()
    for name in ("growth_energy", "variance", "effective_timestep"):
        trace = traces[name]
        assert found[name] == pytest.approx(np.mean(trace), rel=1e-12)
        assert found[f"{name}_error"] == pytest.approx(reblock(trace).error, rel=1e-12)
        # Independent numbers: their own scatter at least, and a correlation of 1/√64 by chance.
        assert 0.99 < found[f"{name}_error"] / (trace.std(ddof=1) / 8) < 1.2
    course = np.array([[-1.0, -2.0], [0.1, 0.2], [3.0, 2.0], [0.5, 0.25]])
    told = Optimized({}, [Stage("LinearMethod", "hartree", 1, *course)], {}).numbers()
    assert (told["variance"], told["variance_error"]) == (2.0, 0.25)
