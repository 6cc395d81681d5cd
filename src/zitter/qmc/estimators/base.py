"""What an estimator can do.

Each is evaluated for one walker inside the compiled block; the drivers average over walkers (with
their weights) and blocks, and give the error from the scatter of blocks.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import Cell
from zitter.qmc.statistics import reblock_all
from zitter.qmc.systems import System
from zitter.qmc.wavefunction import Walker, Wavefunction


class Estimator(eqx.Module):
    """Something to measure; `prepare` fits it to a system or refuses it with the reason."""

    at_twists: ClassVar[bool] = True  # whether it is defined there

    @abc.abstractmethod
    def prepare(self, system: System) -> Prepared: ...

    def check(self, psi: Wavefunction) -> None:
        """Refuse a wave function that cannot give what is asked of it."""
        return None


class Prepared(eqx.Module):
    """An estimator with its tables for one system."""

    name: eqx.AbstractClassVar[str]

    @abc.abstractmethod
    def evaluate(self, psi: Wavefunction, walker: Walker, key: Any) -> Any:
        """One array for one walker."""

    def at_once(self, psi: Wavefunction) -> int | None:
        """For how many walkers it may be evaluated at once, where memory bounds it."""
        return None

    def reduce(self, values: Any, shares: Any) -> Any:
        """The mean of all walkers' arrays, first axis, with `shares` that sum to 1."""
        return jnp.tensordot(shares, values, 1)

    @abc.abstractmethod
    def finalize(self, blocks: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
        """x, mean and error from the averages of all blocks."""


def average(blocks: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and errors of all numbers in an array (blocks, …)."""
    mean, error = reblock_all(blocks.reshape(len(blocks), -1), weights)
    return mean.reshape(blocks.shape[1:]), error.reshape(blocks.shape[1:])


def cell_of(estimator: Estimator, system: System) -> Cell:
    if system.cell is None:
        raise checks.InputError(
            "estimators", f"must not hold {type(estimator).__name__} for a system without a cell"
        )
    return system.cell
