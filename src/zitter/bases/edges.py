"""What is at the end of a basis, and whether a run has reached it.

Every run looks, asked or not; only what would change a yield becomes a warning.
"""

from __future__ import annotations

import abc
import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import traced
from zitter.keywords import caller

if TYPE_CHECKING:
    from zitter.bases.base import Basis

# Of a state of norm one, in the last l or at the end of the box: what changes yields by as much.
LIMIT = 1e-6
# Of what light has taken from the start: what turns an angular distribution by about a degree.
SHARE = 1e-3


class ConvergenceWarning(UserWarning):
    """A result that a larger basis would change."""


class SmallBoxWarning(UserWarning):
    """The radial box is small for the pulse or for the atom."""


class Edge(eqx.Module):
    """One end of a basis: the wall, the last l, the last κ.

    Of an edge that is watched `throughout` a run, the largest population counts; of others the one
    at the end.
    """

    name: eqx.AbstractClassVar[str]  # of the population, in `info`
    throughout: eqx.AbstractClassVar[bool]

    @abc.abstractmethod
    def population(self, psi: Any) -> jax.Array:
        """The probability to be there."""

    @abc.abstractmethod
    def sentence(self, population: float, limit: float) -> str:
        """What a population above the limit means, and what would do."""

    def warn(self, population: float, limit: float = LIMIT) -> None:
        if population > limit:
            sentence = self.sentence(population, limit)
            warnings.warn(sentence, ConvergenceWarning, stacklevel=caller())

    def facts(self, population: float, left: float) -> dict[str, float]:
        """What `info` tells of it; `left` is the part of the state that left its start."""
        return {self.name: population}

    def limit(self, left: Any) -> Any:
        """The population to warn of; `left` may be traced."""
        return LIMIT


class LastL(Edge):
    """The highest l, from which light would lead on; a kick that keeps the norm reflects there.

    What is reflected may be gone from the last l when the pulse is over, so its largest population
    counts, and that against the part of the state that left its start: angles of emission are made
    of that part alone.
    """

    basis: Basis
    name: ClassVar[str] = "last_l_population"
    throughout: ClassVar[bool] = True

    def population(self, psi: Any) -> jax.Array:
        rows = jnp.asarray(psi)[self.basis.l == self.basis.l.max()]
        return jnp.real(jnp.vdot(rows, self.basis.overlap(rows)))

    def facts(self, population: float, left: float) -> dict[str, float]:
        return {self.name: population, "last_l_share": population / left}

    def limit(self, left: Any) -> Any:
        return jnp.minimum(LIMIT, SHARE * left)

    def sentence(self, population: float, limit: float) -> str:
        return (
            f"lmax = {np.max(self.basis.l)} is too small: the last l holds {population:.1e} of the "
            f"probability (limit {limit:.0e}) at some time of the run"
        )


def begin(edges: tuple[Edge, ...]) -> dict[str, jax.Array]:
    """The largest populations so far, before anything has been seen."""
    return {edge.name: jnp.zeros((), jnp.float64) for edge in edges if edge.throughout}


def largest(edges: tuple[Edge, ...], psi: Any, before: dict[str, jax.Array]) -> dict[str, Any]:
    """The same with one more state looked at."""
    # A look at the run is no part of its result: derivatives do not pass through it.
    psi = jax.lax.stop_gradient(psi)
    return {
        edge.name: jnp.maximum(before[edge.name], edge.population(psi))
        for edge in edges
        if edge.throughout
    }


@eqx.filter_jit
def populations(edges: tuple[Edge, ...], psi: Any, before: dict[str, Any]) -> dict[str, Any]:
    """What a run ends with: the largest of some, the last of others."""
    last = {edge.name: edge.population(psi) for edge in edges if not edge.throughout}
    return largest(edges, psi, before) | last


def judged(
    edges: tuple[Edge, ...], psi: Any, before: dict[str, Any], left: float
) -> dict[str, float]:
    """The populations as numbers, with warnings of those above the limit; `left` is the part of
    the state that left its start."""
    found = populations(edges, psi, before)
    facts: dict[str, float] = {}
    for edge in edges:
        population = float(found[edge.name])
        edge.warn(population, float(edge.limit(left)))
        facts |= edge.facts(population, left)
    return facts


def gone(basis: Basis, start: Any, psi: Any) -> jax.Array:
    """1 − |⟨start|ψ⟩|², for a start of any norm; at least what rounding leaves."""
    kept = jnp.abs(basis.inner(start, psi)) ** 2 / jnp.real(basis.inner(start, start)) ** 2
    return jnp.maximum(1 - kept, 1e-10)


def report(edges: tuple[Edge, ...], psi: Any, before: dict[str, Any], left: Any) -> None:
    """From a traced run, which has no numbers to warn of yet, to the scan around it; `left` is the
    part of the state that left its start."""
    values = populations(edges, psi, before)
    for edge in edges:
        traced.tell(edge, values[edge.name], edge.limit(left))


def warn_of_worst(told: Sequence[traced.Told]) -> None:
    """Of each edge once, with what the worst run of a scan has reached, against its own limit."""
    worst: dict[str, tuple[float, float, Edge]] = {}
    for edge, rows in told:
        for population, limit in rows.reshape(-1, 2).tolist():
            before = worst.get(edge.name, (0.0, 1.0, edge))
            # A run without numbers has no edges either; that is told by itself.
            if math.isfinite(population) and population / limit >= before[0] / before[1]:
                worst[edge.name] = population, limit, edge
    for population, limit, edge in worst.values():
        edge.warn(population, limit)
