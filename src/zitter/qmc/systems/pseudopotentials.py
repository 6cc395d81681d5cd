"""Semilocal pseudopotentials, as data.

    V = −Z/r + v_loc(r) + Σ_l v_l(r) Σ_m |lm⟩⟨lm|

with v_l the difference of channel l to the local one. Each v is a sum of c r^n e^{−αr²} or a table.
"""

from __future__ import annotations

import abc
import os
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from scipy.interpolate import CubicSpline

from zitter import checks
from zitter.qmc.systems.pseudopotential_files import (
    content,
    nuclear_charge,
    read_gamess,
    read_nwchem,
    read_table,
)


class Radial(eqx.Module):
    """A function of the distance to a nucleus."""

    @abc.abstractmethod
    def __call__(self, r: Any) -> Any: ...


class GaussianSum(Radial):
    """Σ_k c_k r^{n_k} e^{−α_k r²}, with n from −2 to 4."""

    coefficients: Any
    exponents: Any
    powers: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self, coefficients: Sequence[float], exponents: Sequence[float], powers: Sequence[int]
    ):
        self.coefficients = checks.array("coefficients", coefficients, (None,))
        self.exponents = checks.array("exponents", exponents, self.coefficients.shape)
        self.powers = tuple(checks.integer(f"powers.{i}", n, -2, 4) for i, n in enumerate(powers))
        if len(self.powers) != len(self.coefficients):
            raise checks.InputError(
                "powers", f"must be {len(self.coefficients)} numbers, but are {len(self.powers)}"
            )

    def __call__(self, r):
        total = jnp.zeros_like(r)
        for c, a, n in zip(self.coefficients, self.exponents, self.powers, strict=True):
            total = total + c * r**n * jnp.exp(-a * r * r)
        return total


class RadialTable(Radial):
    """The cubic spline through values `v` at distances `r`, which increase; 0 beyond the last.

    Below the first distance it goes on as the first cubic.
    """

    r: Any  # knots (n,)
    cubics: Any  # (4, n − 1): powers of r − r_i from the highest

    def __init__(self, r: Any, v: Any):
        r = checks.array("r", r, (None,))
        v = checks.array("v", v, np.shape(r))
        if len(r) < 4:
            raise checks.InputError("r", f"must be at least 4 distances, but are {len(r)}")
        if np.any(np.diff(r) <= 0) or r[0] < 0:
            raise checks.InputError("r", "must not be negative and increase, but does not")
        self.r = r
        self.cubics = np.asarray(CubicSpline(r, v).c)

    def __call__(self, r):
        which = jnp.clip(jnp.searchsorted(self.r, r, side="right") - 1, 0, len(self.r) - 2)
        x = r - jnp.asarray(self.r)[which]
        a, b, c, d = (row[which] for row in jnp.asarray(self.cubics))
        return jnp.where(r < self.r[-1], ((a * x + b) * x + c) * x + d, 0.0)


class Pseudopotential(eqx.Module):
    """`charge` Z that is left, v_loc without −Z/r, and v_l for l = 0, 1, …

    `name` is that of its set, such as "ccecp".
    """

    charge: Any
    local: Radial
    channels: tuple[Radial, ...]
    name: str = eqx.field(static=True)

    def __init__(
        self, charge: float, local: Radial, channels: Sequence[Radial] = (), name: str = ""
    ):
        self.charge = checks.positive("charge", charge)
        self.local = checks.instance("local", local, Radial)
        checks.listed("channels", channels, Radial)
        self.channels = tuple(channels)
        self.name = checks.instance("name", name, str)

    @classmethod
    def from_nwchem(
        cls, text_or_file: str | os.PathLike[str], symbol: str | None = None, name: str = ""
    ) -> Pseudopotential:
        """From an ECP block in NWChem's form, or a file of it.

        `symbol` chooses the element where there are several.
        """
        return cls._of_terms(*read_nwchem(content(text_or_file), symbol), name)

    @classmethod
    def from_gamess(cls, text_or_file: str | os.PathLike[str], name: str = "") -> Pseudopotential:
        """From the ECP of an element in GAMESS's form, or a file of it."""
        return cls._of_terms(*read_gamess(content(text_or_file)), name)

    @classmethod
    def from_table(
        cls, text_or_file: str | os.PathLike[str], charge: float, name: str = ""
    ) -> Pseudopotential:
        """From columns r, v_loc, v_0, v_1, …, in bohr and hartree, or a file of them.

        As above, −Z/r is not in v_loc, and v_l is the difference of channel l to the local one.
        """
        r, *columns = read_table(content(text_or_file))
        local, *channels = (RadialTable(r, v) for v in columns)
        return cls(charge, local, channels, name)

    @classmethod
    def _of_terms(cls, symbol: str, core: int, channels: Any, name: str) -> Pseudopotential:
        charge = nuclear_charge(symbol) - core
        if charge < 1 or core < 0:
            raise checks.InputError(
                "text", f"must leave electrons to {symbol}, but takes {core} of them into the core"
            )
        local, *others = (GaussianSum(*zip(*terms, strict=True)) for terms in channels)
        return cls(charge, local, others, name)
