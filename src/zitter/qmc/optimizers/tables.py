"""Samples of |Ψ|² under other parameters: local energies, ln|Ψ|, and their derivatives.

Terms of the energy that do not see Ψ are evaluated once for each sample. Those that do, the kinetic
energy and nonlocal ones, are evaluated again under whatever parameters are tried, on what Ψ keeps
of the sample; for Jastrow parameters that is ∇ln D and ∇²D/D.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import runtime
from zitter.qmc.energies.local import energy_parts
from zitter.qmc.spread import filled_up, over_walkers
from zitter.qmc.wavefunction import Wavefunction

BATCH = 256  # samples whose derivatives are taken at once
PIECE = 2048  # samples handed to a compiled program
OUTLIERS = 8.0  # mean absolute deviations from the median beyond which E_L is cut


class Data(NamedTuple):
    """Samples of |Ψ|²."""

    kept: Any  # what Ψ keeps of each
    fixed: Any  # (M,): the energy of the terms that do not see Ψ
    keys: Any  # of those that do


class Table(NamedTuple):
    """Local energies, ∂ln|Ψ|/∂p and ∂E/∂p of all samples."""

    energy: np.ndarray  # (M,)
    log_slope: np.ndarray  # (M, P)
    energy_slope: np.ndarray  # (M, P)


def sample(psi: Wavefunction, walker: Any, key: Any) -> Data:
    """What is stored of one walker."""
    ratios = any(term.takes_ratios for term in psi.system.energies)
    fixed = energy_parts(psi, walker, key, jnp.float64, sees_psi=False)
    return Data(psi.keep(walker, ratios), sum(fixed.values(), jnp.zeros(())), key)


def local_energy(psi: Wavefunction, parameters: Any, data: Data) -> tuple[Any, Any]:
    """E_L and ln|Ψ| of one sample under other parameters."""
    psi = psi.with_parameters(parameters)
    walker = psi.recall(data.kept)
    parts = energy_parts(psi, walker, data.keys, jnp.float64, sees_psi=True)
    return data.fixed + sum(parts.values()), walker.log


def energies(psi: Wavefunction, parameters: Any, data: Data) -> tuple[np.ndarray, np.ndarray]:
    """(E_L, ln|Ψ|) of all samples."""
    return _in_pieces(_energies, psi, parameters, data)


def tabulate(psi: Wavefunction, data: Data) -> Table:
    return Table(*_in_pieces(_derivatives, psi, psi.parameters, data))


@eqx.filter_jit
def _energies(psi, parameters, data):
    def here(shared, data):
        psi, parameters = shared
        one = lambda sample: local_energy(psi, parameters, sample)  # noqa: E731
        return jax.lax.map(one, data, batch_size=BATCH)

    return over_walkers(here, (psi, parameters), data)


@eqx.filter_jit
def _derivatives(psi, parameters, data):
    def here(shared, data):
        psi, parameters = shared

        def one(sample):
            energy, pull = jax.vjp(lambda p: local_energy(psi, p, sample), parameters)
            ones, none = jnp.ones(()), jnp.zeros(())
            return energy[0], pull((none, ones))[0], pull((ones, none))[0]

        return jax.lax.map(one, data, batch_size=BATCH)

    return over_walkers(here, (psi, parameters), data)


def _in_pieces(program: Any, psi: Wavefunction, parameters: Any, data: Data) -> Any:
    """A compiled program over pieces of one size, whatever the number of samples is."""
    count = len(data.fixed)
    size = filled_up(min(PIECE, 1 << (count - 1).bit_length()))
    parts = []
    for first in range(0, count, size):
        # The last piece is filled up with samples that are dropped again.
        chosen = np.minimum(np.arange(first, first + size), count - 1)
        found = program(psi, jnp.asarray(parameters), part(data, chosen))
        parts.append([runtime.to_host(x)[: count - first] for x in found])
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def part(found: Any, chosen: Any) -> Any:
    """Some of the samples of Data or of a Table."""
    return jax.tree.map(lambda x: np.asarray(x)[chosen], found)


def limited(energy: np.ndarray) -> np.ndarray:
    """Local energies with outliers, as near nodes, brought to `OUTLIERS` mean deviations."""
    center = np.median(energy)
    reach = OUTLIERS * np.mean(np.abs(energy - center))
    return np.clip(energy, center - reach, center + reach)


def reweighted(psi: Wavefunction, data: Data, trial: np.ndarray, old: np.ndarray):
    """(energy, variance, overlap) of trial parameters on samples of the present ones."""
    energy, log = energies(psi, trial, data)
    return averages(energy, log - old)


def averages(energy: np.ndarray, change: np.ndarray) -> tuple[float, float, float]:
    """(energy, variance, overlap) under weights e^{2 change}, of ln|Ψ| by which samples moved."""
    power = 2 * change
    weights = np.exp(power - np.max(power))
    weights = weights / np.sum(weights)
    mean = float(np.sum(weights * energy))
    variance = float(np.sum(weights * (energy - mean) ** 2))
    return mean, variance, float(1 / np.sum(weights**2) / len(weights))
