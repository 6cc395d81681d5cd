"""What single-particle orbitals can do.

Positions come components first, r of shape (d, …); orbitals are the last axis of what comes back.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx

from zitter import checks
from zitter.qmc.cells import Cell


class Orbitals(eqx.Module):
    """A list of orbitals, the lowest first; a spin channel with n electrons fills the first n."""

    count: eqx.AbstractVar[int]
    is_complex: eqx.AbstractVar[bool]

    @abc.abstractmethod
    def values(self, r: Any, dtype: Any) -> Any:
        """φ_j(r), shape (…, count)."""

    @abc.abstractmethod
    def derivatives(self, r: Any, dtype: Any) -> tuple[Any, Any, Any]:
        """φ (…, count), ∇φ (d, …, count) and ∇²φ (…, count)."""

    def slopes(self, r: Any, dtype: Any) -> tuple[Any, Any]:
        """φ (…, count) and ∇φ (d, …, count), where the Laplacian is not needed."""
        return self.derivatives(r, dtype)[:2]

    def displaced(self, carry: Callable[[Any], Any]) -> Orbitals:
        """Orbitals whose centers have moved with nuclei: carry(places (n, d))."""
        raise checks.InputError(
            "orbitals",
            f"must stand around nuclei to follow them, but {type(self).__name__} do not",
        )

    def at_twist(self, cell: Cell | None, twist: Any) -> Orbitals:
        """As many complex orbitals at a twist in units of the reciprocal lattice vectors."""
        raise checks.InputError(
            "twists",
            "must be used with plane waves, or other orbitals of a periodic cell, but not with "
            f"{type(self).__name__}: run each twist with orbitals of its own, as from_pyscf(…, "
            "twist=…) makes them, and give the runs to average_runs",
        )
