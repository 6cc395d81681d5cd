"""Light and motion that the steps of a run do not see: a pulse within one of them, a wave in phase
with them.

A method looks at H(t) a few times in each step. Of c(t) it knows no more than straight lines
through these values tell. What is left between them,

    e(t) = c(t) − lines,        ∫|e| dt over a step,

is (ωΔt)²/12 of ∫|c| for a wave. Where it is more than a part `SEEN` of that, runs with one and with
two steps may agree in what is wrong, and a smaller step is the only way to tell by how much. To
first order ψ is off by no more than ∫|e|·‖(O − ⟨O⟩)ψ‖ dt; phases of the whole state do not count.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, segments
from zitter.hamiltonian import Driven, Hamiltonian, TimeDependent
from zitter.linalg.base import Unsupported
from zitter.terms import discretize

SEEN = 0.1  # of ∫|c|: (ωΔt)²/12 of waves with ωΔt = 1.1
FINE = 2**17  # times at which a run is looked at, but for long ones
LEAST, MOST = 4, 512  # in each step
LITTLE = 2**10  # bytes of H(t) that count as one time; more of them as several
CHUNK = 2**15  # times at once
AT_ONCE = 2**18  # numbers at once
FEW, FEWER = 512, 64  # points that tell how a potential changes; in runs of many steps
WINDOW = 5  # steps, around each
FAINT, ROUNDING = 1e-4, 1e-12  # of the largest change, and of the largest value: no matter


class Piece(NamedTuple):
    """What is not seen of one part of H: ∫|e| over all such steps, where |e| is largest, a moment
    nearby at which H is looked at, how far apart values are at both, and a step that would do.
    `single` is whether the part is one number times one operator."""

    place: int
    single: bool
    total: float
    worst: float
    looked: float
    apart: float
    enough: float


def of_run(
    H: Hamiltonian, nodes: Sequence[float], start: float, dt: float, steps: int
) -> list[Piece]:
    """Parts of H that change within steps that look at it at these `nodes`, from 0 to 1."""
    found = []
    for place, change in enumerate(H.changing if nodes else ()):
        sampled = None if checks.is_traced(change) else _sampled(H, place, change, steps)
        if sampled is not None:
            values, weight = sampled
            spread = (0.5 + np.arange(256) * (np.sqrt(5) - 1) / 2) % 1.0
            some = values(start + spread * steps * dt)
            # What a potential is as a rule is no change of it.
            usual = 0.0 if isinstance(change, Driven) else some.mean()
            faint = FAINT * np.abs(some - usual).max() + ROUNDING * np.abs(some).max()
            many = int(np.clip(FINE // (steps * weight), LEAST, MOST))
            found.append(_unseen(place, values, usual, faint, nodes, start, dt, steps, many))
    return [piece._replace(single=_is_single(H, piece)) for piece in found if piece is not None]


def lost(pieces: Sequence[Piece], H: Hamiltonian, psi: jax.Array) -> float:
    """How far ψ may be off for them, as a part of its norm."""
    return sum(piece.total * _strength(piece, H, psi) for piece in pieces)


def directions(pieces: Sequence[Piece], H: Hamiltonian, psi: jax.Array) -> list[jax.Array]:
    """Where they would have taken ψ, of its norm."""
    images = [_image(piece, H, psi) for piece in pieces]
    norms = [H.basis.norm(image) for image in images]
    return [
        image * (H.basis.norm(psi) / norm)
        for image, norm in zip(images, norms, strict=True)
        if norm > 0  # what is the same everywhere takes ψ nowhere
    ]


def _strength(piece: Piece, H: Hamiltonian, psi: jax.Array) -> float:
    found = float(H.basis.norm(_image(piece, H, psi)) / H.basis.norm(psi))
    return found if piece.single else found / piece.apart


def _image(piece: Piece, H: Hamiltonian, psi: jax.Array) -> jax.Array:
    """(O − ⟨O⟩)ψ; of what is not one c(t)O its change between two moments."""
    change, basis = H.changing[piece.place], H.basis
    if piece.single and isinstance(change, Driven):
        image = change.operator.apply(psi)
    else:
        image = change.at(piece.worst).apply(psi) - change.at(piece.looked).apply(psi)
    image = basis.solve_overlap(image)
    return image - basis.inner(psi, image) / basis.inner(psi, psi) * psi


def _sampled(
    H: Hamiltonian, place: int, change: TimeDependent, steps: int
) -> tuple[Callable[[np.ndarray], np.ndarray], int] | None:
    """t ↦ c(t), or a number made of O(t) on a few points, for many times at once, and what one of
    them costs; None where that cannot be had."""
    if isinstance(change, Driven):
        values = _padded(lambda times: _factors(change.factor, times))
        return values, _weight(change.factor)
    small = _on_few_points(H, FEW if steps * LEAST <= FINE else FEWER)
    if small is None:
        return None
    weights, there = np.random.default_rng(7).standard_normal(small.shape), small.changing[place]
    return _padded(lambda times: _projections(there, weights, times)), _weight(there.at)


def _weight(made: Callable[[Any], Any]) -> int:
    """What a value of it costs, by its size, in such as take next to nothing."""
    shapes = eqx.filter_eval_shape(made, jax.ShapeDtypeStruct((), jnp.float64))
    return 1 + segments.bytes_of(shapes) // LITTLE


def _is_single(H: Hamiltonian, piece: Piece) -> bool:
    change = H.changing[piece.place]
    return isinstance(change, Driven) and jnp.ndim(change.factor(piece.worst)) == 0


@eqx.filter_jit
def _factors(factor: Callable[[Any], Any], times: jax.Array) -> jax.Array:
    """One number at each time; of several factors a sum with different weights."""

    def one(t: jax.Array) -> jax.Array:
        found = jnp.ravel(jnp.asarray(factor(t)))
        return jnp.sum(found / jnp.sqrt(1.0 + jnp.arange(found.size)))

    size = math.prod(jax.eval_shape(factor, jax.ShapeDtypeStruct((), times.dtype)).shape)
    return jax.lax.map(one, times, batch_size=max(1, min(len(times), AT_ONCE // max(size, 1))))


@eqx.filter_jit
def _projections(change: TimeDependent, weights: Any, times: jax.Array) -> jax.Array:
    ones = jnp.ones(weights.shape)
    return jax.lax.map(lambda t: jnp.sum(weights * change.at(t).apply(ones)), times, batch_size=64)


def _padded(values: Callable[[Any], jax.Array]) -> Callable[[np.ndarray], np.ndarray]:
    """Of numbers of times that differ little, so that few programs are compiled."""

    def found(times: np.ndarray) -> np.ndarray:
        size = max(1024, 1 << (len(times) - 1).bit_length())
        filled = np.concatenate([times, np.full(size - len(times), times[-1])])
        return np.asarray(values(jnp.asarray(filled)))[: len(times)]

    return found


def _on_few_points(H: Hamiltonian, points: int) -> Hamiltonian | None:
    """The same H on about so many points in the same box."""
    if H.basis.size <= points:
        return H
    if H.model is None:
        return None
    ratio = (H.basis.size / points) ** (1 / len(H.shape))
    with contextlib.suppress(Unsupported, checks.InputError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return H.origin.remade(discretize(H.model, H.basis.rescaled(ratio)))
    return None


def _unseen(
    place: int,
    values: Callable[[np.ndarray], np.ndarray],
    usual: float,
    faint: float,
    nodes: Sequence[float],
    start: float,
    dt: float,
    steps: int,
    many: int,
) -> Piece | None:
    """`many` values in each step beside those that a run looks at."""
    total, largest, apart, moments, enough = 0.0, 0.0, 1.0, (start, start), np.inf
    block = max(1, CHUNK // (many + len(nodes)))
    for first in range(0, steps, block):
        count = min(block, steps - first)
        before, after = max(first - 1, 0), min(first + count + 1, steps)
        looked = np.unique(np.add.outer(np.arange(before, after), np.asarray(nodes)))
        fine = first + (np.arange(count * many) + 0.5) / many
        both = values(start + dt * np.concatenate([looked, fine])) - usual
        known, c = both[: len(looked)], both[len(looked) :]
        e = np.abs(c - _lines(fine, looked, known)).reshape(count, many)
        around = _windows(np.abs(c).reshape(count, many).mean(axis=1))
        part = e.mean(axis=1)
        bad = part > SEEN * around + faint
        if not bad.any():
            continue
        total += float(part[bad].sum() * dt)
        here = np.where(bad[:, None], e, 0.0).ravel()
        peak = int(here.argmax())
        enough = min(enough, _enough(c.reshape(count, many), bad, around, dt))
        if here[peak] > largest:
            near = np.argsort(np.abs(looked - fine[peak]))[:2]
            other = near[np.abs(known[near] - c[peak]).argmax()]
            largest = here[peak]
            moments = start + dt * float(fine[peak]), start + dt * float(looked[other])
            apart = float(abs(c[peak] - known[other]))
    return Piece(place, False, total, *moments, apart, enough) if total else None


def _lines(places: np.ndarray, known_at: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Straight lines through what is known, also beyond its ends, within a step of them."""
    if len(known) < 2:
        return np.interp(places, known_at, known)
    beyond = np.array([known_at[0] - 1, *known_at, known_at[-1] + 1])
    slopes = np.diff(known)[[0, -1]] / np.diff(known_at)[[0, -1]]
    ends = known[[0, -1]] + slopes * [-1, 1]
    return np.interp(places, beyond, [ends[0], *known, ends[1]])


def _windows(parts: np.ndarray) -> np.ndarray:
    """The mean over a few steps around each."""
    ones = np.ones(min(WINDOW, len(parts)))
    return np.convolve(parts, ones, "same") / np.convolve(np.ones(len(parts)), ones, "same")


def _enough(c: np.ndarray, bad: np.ndarray, around: np.ndarray, dt: float) -> float:
    """A step with which these would be seen, of halves of it."""
    count, many = c.shape
    fine, values = np.arange(c.size), c.ravel()
    parts = 2
    while parts <= many // 4:
        every = many // parts
        looked = fine[every // 2 :: every]
        e = np.abs(values - _lines(fine, looked, values[looked])).reshape(count, many)
        if not np.any(e.mean(axis=1)[bad] > SEEN * around[bad]):
            break
        parts *= 2
    return dt / parts
