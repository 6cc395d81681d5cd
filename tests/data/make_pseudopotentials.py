# pyright: reportMissingImports=false
"""Writes the tables of published pseudopotentials from PySCF's library.

python tests/data/make_pseudopotentials.py
"""

from __future__ import annotations

import json
from pathlib import Path

from pyscf import gto
from pyscf.data.elements import ELEMENTS
from pyscf.lib.exceptions import BasisNotFoundError

FOLDER = Path(__file__).parents[2] / "src" / "zitter" / "qmc" / "bridges"


def entries(name):
    for number, symbol in enumerate(ELEMENTS[1:87], 1):
        try:
            core, channels = gto.basis.load_ecp(name, symbol)
        except (BasisNotFoundError, KeyError, ValueError):
            continue
        short = []
        for l, by_power in channels:
            last = max((n for n, terms in enumerate(by_power) if terms), default=-1)
            short.append([l, by_power[: last + 1]])
        table = json.dumps([number - core, short], separators=(",", ":"))
        yield f"{json.dumps(symbol)}: {table}"


for name in ("ccecp", "bfd"):
    (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(entries(name)) + "\n}\n")
