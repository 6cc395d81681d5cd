"""Pseudopotentials by name: published sets, kept as tables beside this file.

`ccecp.json` and `bfd.json` hold for each element [charge, [[l, [terms of r⁻², r⁻¹, …]], …]] with
terms [α, c], channels in the form in which PySCF has them: ccECP (Bennett et al., J. Chem. Phys.
147, 224106, and its sequels) and BFD (Burkatzki, Filippi and Dolg, J. Chem. Phys. 126, 234105).
"""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any

from zitter import checks
from zitter.qmc.bridges.gaussian_potentials import gaussian_potential, set_name
from zitter.qmc.systems.pseudopotentials import Pseudopotential

SETS = ("ccecp", "bfd")


def pseudopotential(element: str, name: str = "ccecp") -> Pseudopotential:
    """The pseudopotential of an element in a set, "ccecp" or "bfd".

    zt.qmc.Nucleus(symbol="C", pseudopotential=zt.qmc.pseudopotential("C"))
    """
    given = set_name(checks.instance("name", name, str))
    if given not in SETS:
        raise checks.InputError("name", f'must be one of {", ".join(SETS)}, but is "{name}"')
    table = _table(given)
    if element not in table:
        others = [other for other in SETS if element in _table(other)]
        hint = f"; {others[0]} has one" if others else ""
        if str(element).capitalize() in table:
            hint = f': did you mean "{str(element).capitalize()}"?'
        raise checks.InputError(
            "element", f"must have a pseudopotential in {given}, but {element} has none{hint}"
        )
    charge, channels = table[element]
    return gaussian_potential(charge, channels, given)


@functools.cache
def _table(name: str) -> dict[str, Any]:
    text = resources.files("zitter.qmc.bridges").joinpath(f"{name}.json").read_text("utf-8")
    return json.loads(text)
