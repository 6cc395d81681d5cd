"""What correlated samples are worth: error bars, autocorrelation time, equilibration.

The error bar of a series is that of `correlations`: over all likely mixtures of independent noise
and a part that is forgotten with one time. Short series hardly tell such mixtures apart, so that it
is never below that of a series with one correlation time and the same first autocorrelation: of
x_t = ρ x_{t−1} + noise, whose τ = (1 + ρ)/(1 − ρ). What was estimated from m independent samples is
multiplied as Student's t with m − 1 degrees of freedom asks for (1.1 for ten), so that error bars
and twice of them hold the truth about as often as those of a normal distribution.

A series shorter than some tens of its correlation times cannot tell them. Walkers can: groups of
them do not hear of each other, however long each is correlated, so that short runs take their error
bars from the scatter of groups. In DMC neighbors are relatives, and stay in their group for longer
than energies are correlated.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from zitter import checks
from zitter.qmc.correlations import PORTION, likely_errors, student

TRANSIENT = 4.0  # σ between the start of a series and the rest that make it a transient
GROUPS = "groups_of_"  # begins the names of records that hold a number for each group of walkers
MANY_BLOCKS = 64  # independent ones, from which on a series is as good as the scatter of groups
FEW_WALKERS = 16  # of DMC, below which groups of them are too small
FEW_BLOCKS = 4  # below which correlations as long as the run itself may stay unseen
FEW_SAMPLES = 16  # independent ones, below which an error bar is itself uncertain
ONE_SAMPLE = 1.1  # independent ones, below which a series has not forgotten its start
LOOKED_AT = 1000  # columns of a table, or some more, that tell what it rests on


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean with its error bar, and what the error bar rests on."""

    mean: float
    error: float
    error_of_error: float
    block_length: int
    autocorrelation_time: float
    samples: int
    naive: float = 0.0  # the error if samples were independent
    groups: int = 0  # of walkers, where the error bar is their scatter

    @property
    def blocks(self) -> int:
        """How many blocks the error bar was taken from."""
        return self.samples // self.block_length

    @property
    def effective_samples(self) -> float:
        return self.samples / self.autocorrelation_time

    @property
    def shorter_than_its_correlations(self) -> bool:
        """Whether the series cannot tell how long it is correlated, and nobody else does."""
        return not self.groups and bool(_unforgotten(self.samples, self.autocorrelation_time))

    @property
    def note(self) -> str:
        """What to say beside an error bar that rests on little; empty where it can be trusted."""
        if self.groups or self.error == 0:
            return ""
        if self.blocks >= FEW_BLOCKS and self.effective_samples >= FEW_SAMPLES:
            return ""
        return (
            f"the error bar rests on about {max(1, round(self.effective_samples))} independent "
            f"stretches of {self.samples} blocks and is itself uncertain: take more blocks"
        )

    def __str__(self) -> str:
        return with_error(self.mean, self.error)


def reblock(series: Any, weights: Any = None) -> Estimate:
    """The (weighted) mean of a correlated series and its error; blocks are those that are worth one
    independent sample each."""
    x = _series(series)
    n = len(x)
    w = _weights(weights, n)
    mean = float(np.sum(w * x) / np.sum(w))
    if n < 2:
        return Estimate(mean, math.inf, math.inf, 1, 1.0, n)
    residuals = _residuals(x, mean, w)
    errors, times = _errors(residuals[:, None])
    tau = max(float(times[0]), 1.0)
    error = float(errors[0])
    length = min(math.ceil(tau), n)
    return Estimate(
        mean,
        error,
        error / math.sqrt(2 * max(n / tau - 1, 1)),
        length,
        tau,
        n,
        float(np.std(residuals, ddof=1) / math.sqrt(n)),
    )


def _series(series: Any) -> np.ndarray:
    x = np.asarray(checks.array("series", checks.numbers("series", series)), np.float64)
    if len(x) == 0:
        raise checks.InputError("series", "must hold numbers, but is empty")
    return x


def _weights(weights: Any, n: int) -> np.ndarray:
    if weights is None:
        return np.ones(n)
    w = checks.array("weights", checks.numbers("weights", weights))
    if w.shape != (n,) or not np.sum(w) > 0:
        raise checks.InputError(
            "weights", f"must be {n} numbers with a positive sum, but have shape {w.shape} and "
            f"sum {np.sum(w):g}",
        )  # fmt: skip
    return w


def _residuals(x: np.ndarray, mean: Any, w: np.ndarray) -> np.ndarray:
    """A ratio of means has the error of its linearized residual w(x − mean)/⟨w⟩."""
    return w * (x - mean) / np.mean(w)


def _errors(residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(errors of means, τ) of each column of (samples, columns)."""
    found = np.empty((2, residuals.shape[1]))
    for start in range(0, residuals.shape[1], PORTION):
        portion = slice(start, start + PORTION)
        both = likely_errors(residuals[:, portion]), _of_one_time(residuals[:, portion])
        found[:, portion] = np.maximum(*both)
    return found[0], found[1]


def _of_one_time(z: np.ndarray) -> tuple[Any, Any]:
    """(error of the mean, τ) of series (samples, …) about their mean, if of one correlation time.

    σ² = v τ/n with τ = (1 + ρ)/(1 − ρ), widened by Student's t for n/τ samples. The first
    autocorrelation of n samples is (1 + 3ρ)/n too small on average, and their variance v by τ/n.
    """
    n, z = len(z), z - np.mean(z, axis=0)
    power = np.sum(z * z, axis=0)
    rho = np.divide(
        np.sum(z[1:] * z[:-1], axis=0), power, out=np.zeros_like(power), where=power > 0
    )
    rho = np.clip(rho + (1 + 3 * rho) / n, 0.0, 1 - 2 / n)
    tau = (1 + rho) / (1 - rho)
    seen = 1 - np.minimum(tau / n, 0.6)  # of the variance, in so short a time
    error = np.sqrt(power / (n - 1) * tau / n / seen)
    return error * student(np.maximum(n / tau, 1.5) - 1), tau


def group_count(walkers: int, relatives: bool = False) -> int:
    """Groups of neighboring walkers whose scatter gives error bars; 1 where they are too few.

    Walkers of VMC do not hear of each other. In DMC they have `relatives`, which stray to the next
    group, so that there are sixteen in each where walkers suffice. Of fewer there are eight groups,
    and with eight walkers in each the truth strays by some 1.1 error bars, with two by some 1.2
    (benchmarks/results/error_bars_few_cpu.json); but a series that is shorter than its correlations
    knows nothing.
    """
    if relatives:
        return max(8, min(32, walkers // 16)) if walkers >= FEW_WALKERS else 1
    return min(32, walkers) if walkers >= 8 else 1


def group_residuals(values: Any, shares: Any, weights: Any) -> np.ndarray:
    """r_g of a mean E = Σ_g S_g/Σ_g W_g that groups of walkers add up to: (S_g − E W_g)/Σ_g W_g.

    Of `values` S and `shares` W, both (blocks, groups), the blocks count with `weights`.
    """
    s, w = (np.asarray(weights) @ np.asarray(table) for table in (values, shares))
    return (s - np.sum(s) / np.sum(w) * w) / np.sum(w)


def with_groups(found: Estimate, residuals: np.ndarray) -> Estimate:
    """An estimate with the error bar by the scatter of groups of walkers.

    Groups do not hear of each other, so that their scatter knows nothing of how long the walk is
    correlated: σ² = G/(G − 1) Σ_g r_g².
    """
    G = len(residuals)
    error = math.sqrt(G / (G - 1) * float(np.sum(residuals**2)))
    tau = (error / found.naive) ** 2 if found.naive > 0 else 1.0
    error *= float(student(G - 1))
    return dataclasses.replace(
        found, error=error, error_of_error=error / math.sqrt(2 * (G - 1)),
        autocorrelation_time=max(tau, 1.0), groups=G,
    )  # fmt: skip


def judged(found: Estimate) -> Estimate:
    """The estimate, without an error bar where the series has not forgotten its start."""
    return unknown(found) if found.shorter_than_its_correlations else found


def _unforgotten(samples: int, tau: Any) -> Any:
    return (samples > 2) & (samples / tau < ONE_SAMPLE)


def stands_still(kept: Mapping[str, np.ndarray], divisor: int | None = None) -> bool:
    """Whether the blocks of traces are equal by lack of moves, not since ψ is an eigenstate.

    `divisor` is what energies of the whole system were divided by.
    """
    if "acceptance" not in kept or len(kept["energy"]) < 2:
        return False
    if not np.any(kept["acceptance"]):
        return True
    total = np.max(np.abs(kept["energy"])) * (divisor or 1)
    equal = np.ptp(kept["energy"]) == 0
    return bool(equal and np.max(kept["variance"]) > 1e-20 * (1 + total**2))


def unknown(found: Estimate) -> Estimate:
    """The estimate of samples that are all one: no error bar."""
    return dataclasses.replace(
        found, error=math.inf, error_of_error=math.inf, autocorrelation_time=float(found.samples),
        groups=0,
    )  # fmt: skip


def reblock_all(table: np.ndarray, weights: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Means and errors that `reblock` finds for each column of a table (samples, columns).

    Where a column has not forgotten its start the error is infinite, as with `judged`.
    """
    x = np.asarray(table, np.float64)
    n = len(x)
    if n == 0:
        raise checks.InputError("series", "must hold numbers, but is empty")
    w = _weights(weights, n)[:, None]
    mean = np.sum(w * x, axis=0) / np.sum(w)
    if n < 2:
        return mean, np.full(mean.shape, math.inf)
    flat = _residuals(x, mean, w).reshape(n, -1)
    errors, times = _errors(flat)
    errors = np.where(_unforgotten(n, np.maximum(times, 1.0)), math.inf, errors)
    return mean, errors.reshape(mean.shape)


def independent_samples(table: np.ndarray, weights: Any = None) -> float:
    """What nine in ten numbers of (samples, …) have at least, infinite where none of them changes.

    Of large tables some columns are looked at, evenly spread.
    """
    n, x = len(table), np.reshape(table, (len(table), -1))
    x = x[:, :: max(1, x.shape[1] // LOOKED_AT)]
    x = (
        np.concatenate([np.real(x), np.imag(x)], axis=1)
        if np.iscomplexobj(x)
        else x.astype(np.float64)
    )
    w = _weights(weights, n)[:, None]
    if n < 2:
        return float(n)
    errors, times = _errors(_residuals(x, np.sum(w * x, axis=0) / np.sum(w), w))
    found = n / np.maximum(times[errors > 0], 1.0)
    return float(np.quantile(found, 0.1, method="lower")) if len(found) else math.inf


def note_on(effective: Mapping[str, float], blocks: int) -> str:
    """What to say, once, of all error bars of such names that rest on few independent samples."""
    few = {name: count for name, count in effective.items() if count < FEW_SAMPLES}
    if not few:
        return ""
    return (
        f"the error bars of {', '.join(few).replace('_', ' ')} rest on as few as "
        f"{max(1, round(min(few.values())))} independent stretches of {blocks} blocks and are "
        "themselves uncertain: take more blocks"
    )


def autocorrelation_time(series: Any, window: float = 5.0) -> float:
    """τ = 1 + 2 Σ_t ρ(t), summed up to the first t ≥ window·τ (Sokal's automatic window).

    The error of the mean is √(τ·variance/n); independent samples have τ = 1.
    """
    x, window = _series(series), checks.positive("window", window)
    n = len(x)
    x = x - np.mean(x)
    variance = float(np.mean(x**2))
    if n < 4 or variance == 0:
        return 1.0
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(x, size)) ** 2
    correlation = np.fft.irfft(spectrum, size)[:n] / (n * variance)
    tau = 2 * np.cumsum(correlation) - 1
    settled = np.flatnonzero(np.arange(n) >= window * tau)
    return float(max(tau[settled[0]] if len(settled) else tau[-1], 1.0))


def equilibration(series: Any, candidates: int = 40) -> int:
    """The first sample to keep: the start that leaves the most independent samples.

    Chodera, J. Chem. Theory Comput. 12, 1799 (2016): dropping more removes the transient, whose
    drift looks like a long autocorrelation, but costs samples; the count (n − t₀)/τ(t₀) peaks where
    the transient ends. At most half of the series is given up.

    The start that peaks by chance in a series without a transient also makes τ look short, and
    error bars too small. So nothing is dropped unless its mean is 4σ away from the mean of what is
    kept, with the σ of a difference of two parts of one series: σ_kept √(1 + (n − t₀)/t₀).
    """
    x, candidates = _series(series), checks.integer("candidates", candidates, 1)
    n = len(x)
    if n < 8:
        return 0
    starts = np.unique(np.linspace(0, n // 2, candidates).astype(int))
    counts = [(n - t) / autocorrelation_time(x[t:]) for t in starts]
    start = int(starts[int(np.argmax(counts))])
    if start == 0:
        return 0
    kept = reblock(x[start:])
    apart = abs(float(np.mean(x[:start])) - kept.mean)
    return start if apart > TRANSIENT * kept.error * math.sqrt(n / start) else 0


DIGITS = 15  # that a double has, whatever it is


def with_error(value: float, error: float) -> str:
    """The usual short form: −0.5143(2) has the error 0.0002 in its last digit.

    No digit is printed that a double does not have: an error below rounding is (1) in the last.
    """
    if not (math.isfinite(error) and math.isfinite(value)):
        return f"{value:.6g} ± {error:g}"
    if error <= 0:
        return f"{value:.10g}(0)"
    digits = 1 - math.floor(math.log10(error))
    if value != 0:
        digits = min(digits, DIGITS - 1 - math.floor(math.log10(abs(value))))
    digits = max(0, digits)
    scaled = max(1, round(error * 10**digits))
    return f"{value:.{digits}f}({scaled})"
