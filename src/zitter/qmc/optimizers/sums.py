"""Sums over samples that matrices of optimization are made of.

Each device sums over the rows of a table that it holds, and what comes of it, a few numbers for
each pair of parameters, is added up over the devices once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import runtime
from zitter.qmc import spread
from zitter.qmc.optimizers.tables import Slopes, Table


class Covariance(NamedTuple):
    """⟨(O_i − ⟨O_i⟩)(O_j − ⟨O_j⟩)⟩ and ⟨(O_i − ⟨O_i⟩)(E − ⟨E⟩)⟩, with ⟨O⟩."""

    matrix: np.ndarray
    with_energy: np.ndarray
    mean: np.ndarray


def log_covariance(table: Table, energy: np.ndarray) -> Covariance:
    """Of O_i = ∂ln|Ψ|/∂p_i and a local energy E of each sample."""
    return _covariance(table, energy, _log_mean, _log_products)


def energy_covariance(table: Table) -> Covariance:
    """The same of O_i = ∂E_L/∂p_i and E_L."""
    return _covariance(table, table.energy, _energy_mean, _energy_products)


def hamiltonian(
    table: Table, energy: np.ndarray, mean: np.ndarray, directions: np.ndarray
) -> np.ndarray:
    """⟨Ψ̄_i|H|Ψ̄_j⟩ with Ψ₀ first, for functions Ψ̄ that are orthonormal on the samples.

    Ψ̄_i/Ψ₀ = Σ_j (O_j − ⟨O_j⟩) D_ji by the columns of `directions` D. Where the local energy was
    changed, its derivative is zero.
    """
    average = float(np.mean(energy))
    size, count = directions.shape
    # One form of D, and so one program, whatever the number of directions is.
    padded = np.pad(directions, ((0, 0), (0, size - count)))
    columns = energy, energy == table.energy
    force, slope, inner = (
        x[..., :count] for x in _total(_projected, table, (mean, padded, average), *columns)
    )
    H = np.empty((count + 1, count + 1))
    H[0, 0] = average
    H[1:, 0] = force
    H[0, 1:] = force + slope
    H[1:, 1:] = inner[:count]
    return H


def _covariance(table: Table, energy: np.ndarray, mean: Any, products: Any) -> Covariance:
    center = _total(mean, table, ())
    matrix, with_energy = _total(products, table, center, energy - np.mean(energy))
    return Covariance(matrix, with_energy, center)


def _total(local: Callable[..., Any], table: Table, shared: Any, *columns: np.ndarray) -> Any:
    """The mean of local(shared, slopes, counted, *columns) over the chosen samples."""
    counted, *given = (table.rows(x) for x in (np.ones(len(table.chosen), bool), *columns))
    shared = jax.tree.map(jnp.asarray, shared)
    total = None
    for piece, slopes in enumerate(table.pieces):
        each = spread.placed([column[piece] for column in (counted, *given)], False)
        here = _summed(local, shared, slopes, each)
        total = here if total is None else jax.tree.map(jnp.add, total, here)
    count = len(table.chosen)
    return jax.tree.map(lambda x: runtime.to_host(x) / count, _over_devices(total))


@eqx.filter_jit
def _summed(local, shared, slopes, each):
    """What each device has of a sum, with devices as first axis."""

    def here(shared, mine):
        return jax.tree.map(lambda x: x[None], local(shared, *mine))

    return spread.over_walkers(here, shared, (slopes, *each))


@jax.jit
def _over_devices(sums):
    """Σ over the devices, on all of them."""
    return spread.over_walkers(
        lambda _, sums: jax.tree.map(lambda x: x[0], sums), (), sums, total=True
    )


def _sum(counted: Any, slope: Any) -> Any:
    # Rows that do not count may hold anything.
    return jnp.sum(jnp.where(counted[:, None], slope, 0.0), axis=0)


def _log_mean(shared, slopes: Slopes, counted):
    return _sum(counted, slopes.log)


def _energy_mean(shared, slopes: Slopes, counted):
    return _sum(counted, slopes.energy)


def _log_products(mean, slopes: Slopes, counted, energy):
    return _products(mean, slopes.log, counted, energy)


def _energy_products(mean, slopes: Slopes, counted, energy):
    return _products(mean, slopes.energy, counted, energy)


def _products(mean, slope, counted, energy):
    O = jnp.where(counted[:, None], slope - mean, 0.0)
    return O.T @ O, O.T @ energy


def _projected(shared, slopes: Slopes, counted, energy, as_found):
    mean, directions, average = shared
    O = jnp.where(counted[:, None], slopes.log - mean, 0.0) @ directions
    slope = jnp.where((counted & as_found)[:, None], slopes.energy, 0.0) @ directions
    force = O.T @ jnp.where(counted, energy - average, 0.0)
    return force, jnp.sum(slope, axis=0), O.T @ (energy[:, None] * O + slope)
