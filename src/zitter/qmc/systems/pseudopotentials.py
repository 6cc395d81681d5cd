"""Semilocal pseudopotentials, as data.

    V = −Z/r + v_loc(r) + Σ_l v_l(r) Σ_m |lm⟩⟨lm|

with v_l the difference of channel l to the local one. Each v is a sum of c r^n e^{−αr²} or a table.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from zitter import checks


class Radial(eqx.Module):
    """A function of the distance to a nucleus."""

    @abc.abstractmethod
    def __call__(self, r: Any) -> Any: ...


class GaussianSum(Radial):
    """Σ_k c_k r^{n_k} e^{−α_k r²}, with n ≥ −1."""

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
