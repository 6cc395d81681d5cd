"""Pseudopotentials of the orbitals, and those that a run asks for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.bridges.calculation import Calculation
from zitter.qmc.bridges.gaussian_potentials import set_name
from zitter.qmc.bridges.potential_sets import SETS, pseudopotential
from zitter.qmc.systems.nuclei import Nucleus
from zitter.qmc.systems.pseudopotentials import Pseudopotential

NONE = "none"


def agreed(
    calculation: Calculation, wanted: str | Mapping[str, str | Pseudopotential] | None
) -> Calculation:
    """The calculation with the pseudopotentials that a run wants, which must fit its orbitals."""
    if wanted is None:
        return calculation
    if isinstance(wanted, Mapping):
        known = {nucleus.symbol for nucleus in calculation.nuclei}
        for symbol in wanted:
            if symbol not in known:
                raise checks.InputError(
                    f"pseudopotentials.{symbol}",
                    f"must be for an element of the orbitals, {', '.join(sorted(known))}",
                )
    elif not isinstance(wanted, str):
        raise checks.InputError(
            "pseudopotentials",
            f"must be a name or a table by element, but is {checks.shown(wanted)}",
        )
    nuclei = []
    for nucleus in calculation.nuclei:
        if isinstance(wanted, str):
            key, choice = "pseudopotentials", wanted
        else:
            key, choice = f"pseudopotentials.{nucleus.symbol}", wanted.get(nucleus.symbol)
        nuclei.append(nucleus if choice is None else _with(key, nucleus, choice))
    return dataclasses.replace(calculation, nuclei=tuple(nuclei))


def _with(key: str, nucleus: Nucleus, wanted: Any) -> Nucleus:
    """The nucleus with what is wanted, if its orbitals were made with the like."""
    there = nucleus.pseudopotential
    if isinstance(wanted, Pseudopotential):
        if there is None or abs(float(there.charge) - float(wanted.charge)) > 1e-9:
            raise checks.InputError(
                key,
                f"must leave the charge that {nucleus.symbol} has in the orbitals, "
                f"{float(nucleus.Z):g}, by a pseudopotential, but leaves {float(wanted.charge):g}"
                + (" and the orbitals have none" if there is None else ""),
            )
        return Nucleus(None, nucleus.position, nucleus.symbol, wanted)
    name = set_name(checks.instance(key, wanted, str))
    if name == NONE and there is not None:
        raise checks.InputError(
            key,
            f"must name the pseudopotential of {nucleus.symbol} that the orbitals were made with"
            + (f', "{there.name}",' if there.name else ",")
            + ' but is "none"',
        )
    if name != NONE and there is None:
        raise checks.InputError(
            key,
            f'must be "none" for {nucleus.symbol}, whose orbitals were made with all electrons, '
            f'but is "{wanted}"',
        )
    if there is None:
        return nucleus
    if there.name and there.name != name:
        raise checks.InputError(
            key,
            f'must be that of the orbitals for {nucleus.symbol}, "{there.name}", but is "{wanted}"',
        )
    if not there.name:  # not every file has names: what it has is compared with the set
        checks.choice(key, name, (*SETS, NONE))
        if not _alike(there, pseudopotential(nucleus.symbol, name)):
            raise checks.InputError(
                key,
                f"must be that of the orbitals for {nucleus.symbol}, but {wanted} has another one",
            )
    return nucleus


def _alike(one: Pseudopotential, other: Pseudopotential) -> bool:
    """The same charge and the same functions, as far as files print them."""
    r = jnp.asarray([0.05, 0.2, 0.5, 0.9, 1.4, 2.0])
    functions = [(one.local, *one.channels), (other.local, *other.channels)]
    if abs(float(one.charge) - float(other.charge)) > 1e-9 or len({len(f) for f in functions}) > 1:
        return False
    pairs = zip(*functions, strict=True)
    return all(np.allclose(a(r), b(r), rtol=1e-4, atol=1e-4) for a, b in pairs)
