"""Twisted boundary conditions, many at once: one compiled run over an axis of twists.

A twist t makes Ψ gain a phase when an electron crosses the cell. Averages over t take most of the
finite-size error of the kinetic energy away (Lin, Zong and Ceperley, Phys. Rev. E 64, 016702). All
twists walk side by side; one that fails is left out of the average and reported.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc import spread
from zitter.qmc.statistics import (
    equilibration,
    judged,
    note_on,
    reblock,
    stands_still,
    unknown,
    with_error,
)
from zitter.qmc.wavefunction import Wavefunction


def twist_grid(count: int, dimension: int = 3) -> list[tuple[float, ...]]:
    """`count` twists along each axis, all off Γ and of equal weight (Monkhorst and Pack).

    Even grids lie halfway between the points of a grid through Γ, and one of each ±t, which have
    the same energy, is enough. Odd ones would hold Γ or a zone corner, where shells are open, and
    whose weight is half of the others': they lie a quarter of a step off Γ, with all their points.
    """
    count = checks.integer("count", count, 1, 100)
    checks.choice("dimension", dimension, (2, 3))
    odd = count % 2 == 1
    steps = [(i - count // 2 + (0.25 if odd else 0.5)) / count for i in range(count)]
    points = itertools.product(steps, repeat=dimension)
    return [p for p in points if odd or p[0] > 0]


class AllTwists(eqx.Module):
    """step(context, state) → (state, record) for all twists at once.

    `shared(state)` is the one counter that all twists have in common; branches that depend on it
    stay branches.
    """

    varying: Any
    step: Callable[..., Any] = eqx.field(static=True)
    shared: Callable[[Any], Any] = eqx.field(static=True)

    def __call__(self, context: Any, state: Any) -> tuple[Any, Any]:
        counter = self.shared(state)

        def one(varying, state):
            here = eqx.tree_at(lambda c: c.psi, context, eqx.combine(varying, context.psi))
            whole = eqx.tree_at(self.shared, state, counter, is_leaf=lambda x: x is None)
            return self.step(here, whole)

        every = jax.vmap(one, spmd_axis_name=spread.twist_axis())
        state, record = every(self.varying, eqx.tree_at(self.shared, state, None))
        return eqx.tree_at(self.shared, state, self.shared(state)[0]), record


@dataclasses.dataclass(frozen=True)
class Twists:
    """Twists in units of the reciprocal lattice vectors, and what of Ψ depends on them."""

    vectors: tuple[tuple[float, ...], ...]
    varying: Any  # Ψ with twists as first axis where it depends on them, None elsewhere
    refused: tuple[tuple[tuple[float, ...], str], ...]  # twists that cannot run, with the reason

    @property
    def count(self) -> int:
        return len(self.vectors)

    def at(self, psi: Wavefunction, index: int) -> Wavefunction:
        return eqx.combine(jax.tree.map(lambda x: x[index], self.varying), psi)

    def average(
        self, records: dict[str, np.ndarray], weights: np.ndarray
    ) -> tuple[dict[str, np.ndarray], int, dict[str, Any]]:
        """(records, start, what to tell) of the mean over twists; records are (blocks, twists).

        A weighted mean m_t over the blocks of each twist from `start` on, where the transient of
        the averaged energy ends, is kept exactly by the series
        Σ_t [m_t + w_t (x_t − m_t)/⟨w_t⟩] / (number of twists), whose scatter is that of the means.
        """
        weights = np.broadcast_to(weights.reshape(len(weights), -1), records["energy"].shape)
        good = np.all(np.isfinite(records["energy"]) & np.isfinite(weights), axis=0)
        if not good.any():
            raise checks.RunError("every twist failed: a local energy became infinite or NaN.")
        start = equilibration(mean_over_twists(records["energy"][:, good], weights[:, good], 0))
        table, notes, effective = [], [], []
        for index, vector in enumerate(self.vectors):
            shown = ", ".join(f"{x:g}" for x in vector)
            if not good[index]:
                notes.append(
                    f"twist ({shown}) failed, a local energy became infinite or NaN, and was left "
                    "out"
                )
                table.append({"twist": list(vector), "energy": None, "error": None})
                continue
            found = judged(reblock(records["energy"][start:, index], weights[start:, index]))
            if stands_still({name: series[start:, index] for name, series in records.items()}):
                found = unknown(found)
            effective.append(found.effective_samples if found.note else math.inf)
            table.append({"twist": list(vector), "energy": found.mean, "error": found.error})
        for vector, reason in self.refused:
            shown = ", ".join(f"{x:g}" for x in vector)
            notes.append(f"twist ({shown}) was refused and left out: {reason}")
            table.append({"twist": list(vector), "energy": None, "error": None})
        notes += filter(None, [note_on({"single twists": min(effective)}, len(weights) - start)])
        energies = [row["energy"] for row in table if row["energy"] is not None]
        if len(energies) > 1:
            scatter = float(np.std(energies, ddof=1))
            notes.append(
                f"averaged over {len(energies)} twists, whose energies scatter by {scatter:.2g} "
                f"({with_error(float(np.mean(energies)), scatter / len(energies) ** 0.5)} if they "
                "stand for all)"
            )
        else:
            notes.append("one twist is left: how much energies scatter is not known")
        averaged = {
            name: mean_over_twists(values[:, good], weights[:, good], start)
            for name, values in records.items()
        }
        return averaged, start, {"twists": table, "notes": notes}

    def __repr__(self) -> str:
        return f"Twists{self.vectors}"


def prepare(
    psi: Wavefunction, twists: int | Sequence[Sequence[float]]
) -> tuple[Wavefunction, Twists]:
    """Ψ at the first twist, and all of them; those that the system refuses do not run.

    A number stands for the grid of so many along each axis.
    """
    system = psi.system
    # A slab is periodic in fewer directions than it moves in.
    directions = system.dimension if system.cell is None else system.cell.dimension
    if isinstance(twists, int) and not isinstance(twists, bool):
        twists = twist_grid(checks.integer("twists", twists, 1, 100), directions)
    if not isinstance(twists, list | tuple):
        raise checks.InputError(
            "twists", f"must be a list of twists, or a number for a grid of them, but is {twists!r}"
        )
    vectors, twisted, refused = [], [], []
    for position, twist in enumerate(twists):
        shift = checks.array(f"twists.{position}", twist, (directions,))
        vector = tuple(float(x) for x in shift)
        try:
            system.check_twist(shift)
        except checks.InputError as error:
            refused.append((vector, str(error)))
            continue
        vectors.append(vector)
        twisted.append(psi.at_twist(shift))
    if not vectors:
        raise checks.InputError("twists", f"must hold one that can run, but {refused[0][1]}")
    return twisted[0], Twists(tuple(vectors), _varying(psi, twisted), tuple(refused))


def _varying(psi: Wavefunction, twisted: list[Wavefunction]) -> Any:
    """The arrays of all Ψ that are not those of the Ψ they were made from, stacked."""
    shared = {id(leaf) for leaf in jax.tree.leaves(psi)}
    own = [jax.tree.map(lambda x: None if id(x) in shared else x, one) for one in twisted]
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *own)


def mean_over_twists(
    values: np.ndarray, weights: np.ndarray, start: int, shares: np.ndarray | None = None
) -> np.ndarray:
    """The series of `Twists.average`, of values (blocks, twists, …), with `shares` of twists."""
    w = weights / np.mean(weights[start:], axis=0)
    w = w.reshape(*w.shape, *(1,) * (values.ndim - 2))
    mean = np.mean((values * w)[start:], axis=0)
    return np.average(mean + w * (values - mean), axis=1, weights=shares)
