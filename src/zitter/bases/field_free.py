"""Levels of an atom without light: among them every spectrum is a set of populations."""

from __future__ import annotations

import abc
import math
from typing import Any

import equinox as eqx
import numpy as np


class FieldFreeLevels(eqx.Module):
    """Energies in rows, one row for each l or κ, and how ψ is spread over them."""

    energies: eqx.AbstractVar[Any]  # (rows, n), rising over the first `sizes` of each row

    @property
    @abc.abstractmethod
    def labels(self) -> np.ndarray:
        """l or κ of each row."""

    @property
    @abc.abstractmethod
    def sizes(self) -> np.ndarray:
        """How many levels each row has; the places behind them are empty."""

    @property
    def c(self) -> float:
        """Levels below −c² are those of positrons: none without relativity."""
        return math.inf

    @property
    def real(self) -> np.ndarray:
        """False in empty places."""
        return np.arange(self.energies.shape[1]) < self.sizes[:, None]

    @abc.abstractmethod
    def populations(self, psi: Any) -> Any:
        """(rows, n), summed over magnetic quantum numbers; of a traced ψ an array of JAX."""

    @abc.abstractmethod
    def free_part(self, psi: Any, flight: float) -> np.ndarray:
        """ψ without levels below zero, after a further `flight` without light."""
