"""Pseudopotentials as sums of Gaussian functions, in the form that PySCF has them."""

from __future__ import annotations

import re
from typing import Any

from zitter.qmc.systems.pseudopotentials import GaussianSum, Pseudopotential


def set_name(name: str) -> str:
    """The name of a set as we compare it: ccECP and cc-ecp are the same."""
    return re.sub(r"[-_ ]", "", name.lower())


def gaussian_potential(charge: float, table: list[Any], name: str) -> Pseudopotential:
    """Channels [l, [terms of r⁻², r⁻¹, …]], terms [α, c], l = −1 the local part."""
    channels: dict[int, GaussianSum] = {}
    for l, by_power in table:
        terms = [(c, alpha, n - 2) for n, listed in enumerate(by_power) for alpha, c, *_ in listed]
        coefficients, exponents, powers = zip(*terms, strict=True) if terms else ((), (), ())
        channels[l] = GaussianSum(coefficients, exponents, powers)
    nothing = GaussianSum((), (), ())
    count = max(channels) + 1
    nonlocal_parts = [channels.get(l, nothing) for l in range(count)]
    return Pseudopotential(charge, channels.get(-1, nothing), nonlocal_parts, name)
