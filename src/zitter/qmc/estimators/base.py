"""What an estimator can do.

Each is evaluated for one walker inside the compiled block; the drivers average over walkers (with
their weights) and blocks, and give the error from the scatter of blocks.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import equinox as eqx
import numpy as np

from zitter import checks
from zitter.qmc.cells import Cell
from zitter.qmc.statistics import reblock
from zitter.qmc.systems import System
from zitter.qmc.wavefunction import Walker, Wavefunction


class Estimator(eqx.Module):
    """Something to measure; `prepare` fits it to a system or refuses it with the reason."""

    at_twists: ClassVar[bool] = True  # whether it is defined there

    @abc.abstractmethod
    def prepare(self, system: System) -> Prepared: ...


class Prepared(eqx.Module):
    """An estimator with its tables for one system."""

    name: eqx.AbstractClassVar[str]

    @abc.abstractmethod
    def evaluate(self, psi: Wavefunction, walker: Walker, key: Any) -> Any:
        """One array for one walker."""

    @abc.abstractmethod
    def finalize(self, blocks: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
        """x, mean and error from the averages of all blocks."""


def average(blocks: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    flat = blocks.reshape(len(blocks), -1)
    estimates = [reblock(column, weights) for column in flat.T]
    shape = blocks.shape[1:]
    mean = np.array([e.mean for e in estimates]).reshape(shape)
    return mean, np.array([e.error for e in estimates]).reshape(shape)


def cell_of(estimator: Estimator, system: System) -> Cell:
    if system.cell is None:
        raise checks.InputError(
            "estimators", f"must not hold {type(estimator).__name__} for a system without a cell"
        )
    return system.cell
