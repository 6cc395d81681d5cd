"""What must hold while a state is carried: a finite norm that only absorbers lower.

    d‖ψ‖²/dt = 2 Im⟨ψ|H|ψ⟩

belongs to what is not Hermitian in H; it is sampled every few steps and integrated by trapezoids.
What a mask takes is counted at each. What is lost or won beyond that is the propagator's error, and
what it has spoilt is no result.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from zitter import traced
from zitter.bases.base import Basis
from zitter.bases.edges import ConvergenceWarning
from zitter.hamiltonian import Hamiltonian
from zitter.keywords import caller

LOST = 0.1  # of the probability, or won, beyond what absorbers account for: the run stops
WORTH_A_WARNING = 0.01  # of the probability
STEP_LIMIT = 0.05  # of the largest norm of ψ: errors by the step size above this are warned of
MISCOUNTED = 0.2  # of what was absorbed, where rates are sampled, a few steps apart
SAMPLED = 16  # steps at most between two samples
MOST_NAMED = 16  # points of a scan
LOOKED = 128  # steps at most between two looks at the edges of the basis
SHORTEST, LONGEST = 16, 1024  # steps after which a run can be saved, if its records are far apart


class AccuracyWarning(UserWarning):
    """A result that a smaller time step would change."""


def absorbs(H: Hamiltonian) -> bool:
    """Whether the norm may fall, so that it has to be counted by what."""
    return not H.basis.complex_scaled and (H.mask is not None or not H.hermitian)


def rate(H: Hamiltonian, psi: jax.Array, t: Any) -> jax.Array:
    """−d‖ψ‖²/dt by what is not Hermitian in H."""
    basis, lost = H.basis, jnp.zeros((), jnp.float64)
    psi = jax.lax.stop_gradient(psi)  # a look at the run is no part of its result
    parts = [H.fixed, *(change.at(t) for change in H.changing)]
    if H.absorber is not None:
        parts.append(H.absorber)
    for part in parts:
        if not part.hermitian:
            lost = lost - 2 * jnp.imag(basis.braket(psi, part.apply(psi)))
    return jax.lax.stop_gradient(lost.astype(jnp.float64))


def difference(basis: Basis, psi: jax.Array, masked: jax.Array) -> jax.Array:
    """What a mask has taken: ‖ψ‖² before it less ‖ψ‖² after it."""
    lost = jnp.real(basis.inner(psi, psi) - basis.inner(masked, masked))
    return jax.lax.stop_gradient(lost.astype(jnp.float64))


def stride(steps: int) -> int:
    """Steps between samples of the rate: the largest number up to 16 that divides `steps`."""
    return max(k for k in range(1, SAMPLED + 1) if steps % k == 0)


def looks(steps: int) -> int:
    """Steps between looks at the edges: the largest number up to 128 that divides `steps`, unless
    that were many looks."""
    if steps <= LOOKED:
        return steps
    found = [k for k in range(LOOKED // 4, LOOKED + 1) if steps % k == 0]
    return found[-1] if found else LOOKED


@functools.cache
def part(steps: int) -> int:
    """Steps between moments at which a run can be saved: those between records, or an even part of
    them, so that far records keep nobody waiting: up to 128, with rates sampled as often, or what
    comes next. Only of numbers that none from 16 to 1024 divides it is all of them."""
    if steps <= 2 * LOOKED:
        return steps
    close = [k for k in range(LOOKED // 2, LOOKED + 1) if steps % k == 0]
    alike = [k for k in close if stride(k) == stride(steps)]
    far = [k for k in range(SHORTEST, LONGEST + 1) if steps % k == 0]
    far.sort(key=lambda k: abs(math.log(k / LOOKED)))
    return next(iter(alike[::-1] + close[::-1] + far), steps)


@dataclasses.dataclass(frozen=True)
class Account:
    """Whether it is known what takes probability from a state (not on a contour that turns), and
    counted exactly: what absorbs, if anything, is a mask, and no rate is sampled.
    """

    known: bool
    exact: bool

    @classmethod
    def of(cls, H: Hamiltonian) -> Account:
        return cls(not H.basis.complex_scaled, H.hermitian)

    def lost(self, before: float, after: float, absorbed: Any) -> float | None:
        """The part of the probability that is gone for no reason, negative where it came for none:
        also where the norm falls by less than was absorbed. None where reasons are not known.
        """
        if not self.known:
            return None
        known = float(absorbed or 0.0)
        allowed = 0.0 if self.exact else MISCOUNTED * abs(known)
        gone = before**2 - after**2 - known
        return math.copysign(max(abs(gone) - allowed, 0.0), gone) / before**2

    def problem(self, t: float, before: float, after: float, absorbed: Any) -> str | None:
        """A sentence that ends a run, by its norm before and now, and by what was absorbed."""
        if not math.isfinite(after):
            return f"The state became infinite or NaN before t = {t:g}: take a smaller dt."
        lost = self.lost(before, after, absorbed)
        won = (after / before) ** 2 - 1 if lost is None else -lost
        if after > before and won > (LOST if lost is not None else 1.0):
            return (
                f"The norm grew from {before:g} to {after:g} by t = {t:g}: take a smaller dt or a "
                "higher precision."
            )
        # Where it fell by less than was absorbed, the count may be the coarse one: that is warned
        # of.
        if lost is not None and (lost > LOST or (self.exact and won > LOST)):
            what = "lost" if lost > 0 else "won"
            return (
                f"{abs(lost):.0%} of the probability was {what} by t = {t:g}{_beside(absorbed)}: "
                "take a smaller dt, or a method that keeps the norm, such as Lanczos or "
                "CrankNicolson."
            )
        return None

    def doubt(self, before: float, after: float, absorbed: Any) -> str | None:
        """A sentence that warns of a run, by the same."""
        lost = self.lost(before, after, absorbed)
        if lost is None or abs(lost) <= WORTH_A_WARNING:
            return None
        what = "lost" if lost > 0 else "won"
        return (
            f"{abs(lost):.1%} of the probability was {what}{_beside(absorbed)}, by errors of the "
            "steps: take a smaller dt"
        )


def warn_of_spoilt_norm(H: Hamiltonian, before: float, after: float, absorbed: Any) -> None:
    sentence = Account.of(H).doubt(before, after, absorbed)
    if sentence is not None:
        warnings.warn(sentence, AccuracyWarning, stacklevel=caller())


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a run inside a scan ended at t; it tells norms before and after, what was absorbed (if
    anything absorbs), and when its method failed."""

    account: Account
    absorbs: bool
    t: float

    def judged(self, row: Sequence[float]) -> tuple[int, float, str] | None:
        """(what is wrong, how much of it, the sentence); None where nothing is."""
        before, after, absorbed, failed_at = row
        norms = before, after, absorbed if self.absorbs else None
        if math.isfinite(failed_at) or math.isnan(failed_at):
            sentence = f"the steps did not converge at t = {failed_at:.6g}: take a smaller dt"
            return 0, -failed_at, sentence
        if before == 0:  # of nothing no part is lost; a run alone is refused
            return None
        lost = abs(self.account.lost(*norms) or 0.0) if math.isfinite(after) else math.inf
        problem = self.account.problem(self.t, *norms)
        if problem is not None:
            return 1, lost, problem.removesuffix(".")
        doubt = self.account.doubt(*norms)
        return None if doubt is None else (2, lost, doubt)


def report(H: Hamiltonian, t: float, before: Any, vitals: dict[str, Any]) -> None:
    """From a traced run, which nothing can end, to the scan around it."""
    absorbed = vitals["absorbed"]
    ending = Ending(Account.of(H), absorbed is not None, t)
    absorbed = 0.0 if absorbed is None else absorbed
    traced.tell(ending, before, vitals["norm"], absorbed, vitals["failed_at"])


def warn_of_endings(
    told: Sequence[tuple[int, traced.Told]], count: int, label: Callable[[int], str]
) -> None:
    """Of each kind of what is wrong once, with the worst of all `count` points of a scan and the
    numbers of all that have it. `told` comes with the number of its first point; those that fill up
    a mesh have none."""
    kinds: dict[int, list[tuple[float, str, int | None]]] = {}
    for first, (ending, rows) in told:
        numbered = rows.ndim == 2  # a `vmap` inside a point has axes of its own
        for i, row in enumerate(rows.reshape(-1, 4).tolist()):
            found = ending.judged(row)
            if found is not None and not (numbered and first + i >= count):
                kind, size, sentence = found
                kinds.setdefault(kind, []).append((size, sentence, first + i if numbered else None))
    for found in kinds.values():
        _, sentence, worst = max(found, key=lambda one: one[0])
        points = sorted({number for _, _, number in found if number is not None})
        if worst is None:
            whose = f"{len(found)} runs of the scan"
        elif len(points) == 1:
            whose = f"item {label(worst)}"
        else:
            named = ", ".join(map(str, points[:MOST_NAMED]))
            more = f" and {len(points) - MOST_NAMED} more" if len(points) > MOST_NAMED else ""
            whose = f"item {label(worst)}; the worst of items {named}{more}"
        warnings.warn(f"{sentence} ({whose})", AccuracyWarning, stacklevel=caller())


def warn_of_steps(
    infos: Sequence[dict[str, Any]],
    norms: Sequence[float],
    limit: float,
    dt: float,
    order: int,
) -> None:
    """Of the worst error by the step size, of the propagator's own estimate, and of runs that could
    not be checked.

    Where steps are far too long, runs with one and two of them may agree in what is wrong: the
    propagator's own estimate counts beside them. `norms` are the largest of each run, of which
    errors are judged as parts, as those of the propagators are; `order` is p where the error falls
    as Δtᵖ.
    """
    # Of what is not seen everything was said before the run.
    pairs = [(i, norm) for i, norm in zip(infos, norms, strict=True) if not i.get("unseen")]
    checked = max((info.get("step_error", 0.0) / norm for info, norm in pairs), default=0.0)
    own = [info.get("error_estimate", 0.0) for info in infos]
    unknown = [info["step_check"] for info in infos if "step_check" in info]
    if checked > limit:
        advice = f"take dt = {dt * (limit / checked) ** (1 / order):.2g} or less"
        text = f"the final state is off by {checked:.1e} of its norm by the step size"
    elif max(own, default=0.0) > limit:
        advice = "take a smaller dt or a higher order"
        text = f"errors of the steps add up to {max(own):.1e} of the state"
    elif unknown:
        text = f"the error by the step size is not known: it {unknown[0]}"
        warnings.warn(text, AccuracyWarning, stacklevel=caller())
        return
    else:
        return
    warnings.warn(f"{text} (limit {limit:g}): {advice}", AccuracyWarning, stacklevel=caller())


def warn_of_unseen(missed: float, limit: float, enough: float) -> None:
    """Of light or motion that comes and goes within the steps, before the run."""
    warnings.warn(
        f"light or motion within the steps is not seen by them, and may change the state by "
        f"{min(missed, 2**0.5):.1e} of its norm (limit {limit:g}): take dt = {enough:.2g} or less",
        AccuracyWarning,
        stacklevel=caller(),
    )


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """For the run that checks another one, of which all is said already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _beside(absorbed: Any) -> str:
    return "" if absorbed is None else " beside what absorbers account for"
