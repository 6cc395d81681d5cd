"""The factor e^J: a sum of terms that changes as one, and its parameters in files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from zitter import checks, io
from zitter.qmc.jastrow.base import Change, Couplings, JastrowTerm, Move, Moves, PreparedTerm
from zitter.qmc.systems import System

SAME_LENGTH = 1e-8  # relative: cutoffs that are one, as printed or from the same cell


class Jastrow(eqx.Module):
    """J of a system: the sum of its terms. Memories and news are tuples, one entry for each."""

    terms: tuple[PreparedTerm, ...]

    def __init__(self, system: System, terms: Sequence[JastrowTerm]):
        checks.listed("jastrow", terms, JastrowTerm)
        prepared = []
        for position, term in enumerate(terms):
            try:
                prepared.append(term.prepare(system))
            except checks.InputError as error:
                raise error.under(f"jastrow.{position}") from None
        self.terms = tuple(prepared)
        if sum(term.cusped for term in prepared) > 1:
            raise checks.InputError(
                "jastrow",
                "must hold one term with Kato's cusps, but holds several, whose sum would double "
                "them: raise the order of one U instead",
            )

    @property
    def pairwise(self) -> bool:
        return all(term.pairwise for term in self.terms)

    @property
    def names(self) -> list[str]:
        return [type(term).__name__.removeprefix("Prepared").lower() for term in self.terms]

    # Parameters: one vector for optimizers, one array for each term in files.

    @property
    def parameters(self) -> jax.Array:
        return ravel_pytree(_varied(self))[0]

    def with_parameters(self, vector: Any) -> Jastrow:
        return eqx.tree_at(_varied, self, ravel_pytree(_varied(self))[1](vector))

    def stored_parameters(self) -> dict[str, io.Variable]:
        variables = {}
        for name, values in self._named(*(term.varied | term.held for term in self.terms)):
            dims = tuple(f"{name}_{axis}" for axis in range(values.ndim))
            units = "bohr" if name.endswith("cutoff") else "1"
            variables[name] = io.Variable(values, dims, units, "Jastrow parameters")
        return variables

    def load_parameters(self, path: str | os.PathLike[str]) -> Jastrow:
        stored = io.read(path).variables
        vector = []
        for name, values in self._named(*(term.varied for term in self.terms)):
            shape = values.shape
            found = _numbers(stored, name)
            if found is None or found.shape != shape:
                raise checks.InputError(
                    "file", f"must hold {name} of shape {shape}, but {os.fspath(path)} does not"
                )
            vector.append(found.ravel())
        for name, length in self._named(*(term.held for term in self.terms)):
            # Files of earlier versions do not tell.
            found = _numbers(stored, name)
            if name in stored and (found is None or not np.allclose(found, length, SAME_LENGTH, 0)):
                told = "other" if found is None else ", ".join(f"{x:.10g}" for x in np.ravel(found))
                raise checks.InputError(
                    "file",
                    f"must be for {name} = {length:.10g} bohr, but {os.fspath(path)} is for "
                    f"{told} bohr: give the term that cutoff, or optimize anew",
                )
        return self.with_parameters(jnp.asarray(np.concatenate(vector)))

    def _named(self, *tables: dict[str, Any]) -> list[tuple[str, np.ndarray]]:
        """What tables of the terms hold, in the order of the vector, as files name it."""
        return [
            ("_".join(filter(None, ("jastrow", str(position), name, part))), np.asarray(values))
            for position, (name, table) in enumerate(zip(self.names, tables, strict=True))
            for part, values in table.items()
        ]

    # A configuration.

    def displaced(self, system: System) -> Jastrow:
        """J on the system with nuclei moved."""
        terms = tuple(term.displaced(system) for term in self.terms)
        return eqx.tree_at(lambda j: j.terms, self, terms)

    def start(self, r: Any, dtype: Any) -> tuple[Any, ...]:
        return tuple(term.start(r, dtype) for term in self.terms)

    def derivatives(self, r: Any, dtype: Any = jnp.float64) -> tuple[Any, Any, Any]:
        """J, ∇_iJ (d, N) and Σ∇_i²J."""
        total, gradient, laplacian = jnp.zeros(()), jnp.zeros(r.shape), jnp.zeros(())
        for term in self.terms:
            j, g, l = term.derivatives(r, dtype)
            total, gradient, laplacian = total + j, gradient + g, laplacian + l
        return total, gradient, laplacian

    # One move.

    def change(self, r: Any, memory: Any, move: Move, gradients: bool, dtype: Any) -> Change:
        value, news = jnp.zeros(()), []
        old = new = jnp.zeros(r.shape[0]) if gradients else None
        for term, own in zip(self.terms, memory, strict=True):
            found = term.change(r, own, move, gradients, dtype)
            value = value + found.value
            if gradients:
                old, new = old + found.gradient_old, new + found.gradient_new
            news.append(found.news)
        return Change(value, old, new, tuple(news))

    def changes(self, r: Any, memory: Any, at_rest: Move, points: Any, dtype: Any) -> Any:
        """J_new − J_old (Q,) with one electron at each of the points (d, Q)."""
        total = jnp.zeros(points.shape[1])
        for term, own in zip(self.terms, memory, strict=True):
            total = total + term.changes(r, own, at_rest, points, dtype)
        return total

    def update(self, memory: Any, move: Move, news: Any, accept: Any) -> tuple[Any, ...]:
        each = zip(self.terms, memory, news, strict=True)
        return tuple(term.update(own, move, fresh, accept) for term, own, fresh in each)

    # A block of moves, for pairwise terms.

    def couplings(self, r: Any, memory: Any, moves: Moves, dtype: Any) -> Couplings:
        k = moves.electrons.shape[0]
        values, pairs, news = jnp.zeros(k), jnp.zeros((k, k)), []
        for term, own in zip(self.terms, memory, strict=True):
            found = term.couplings(r, own, moves, dtype)
            values, pairs = values + found.values, pairs + found.pairs
            news.append(found.news)
        return Couplings(values, pairs, tuple(news))

    def update_block(self, memory: Any, moves: Moves, news: Any, accepted: Any) -> tuple[Any, ...]:
        each = zip(self.terms, memory, news, strict=True)
        return tuple(term.update_block(own, moves, fresh, accepted) for term, own, fresh in each)


def _numbers(stored: dict[str, io.Variable], name: str) -> np.ndarray | None:
    """The array of that name, where there is one of numbers: a file may hold anything."""
    found = np.asarray(stored[name].data) if name in stored else np.array(None)
    return found if found.dtype.kind in "iuf" else None


def _varied(jastrow: Jastrow) -> list[Any]:
    return [values for term in jastrow.terms for values in term.varied.values()]
