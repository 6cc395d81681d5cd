"""`type = "Pseudopotential"`: from a text file, or number by number."""

from __future__ import annotations

from collections.abc import Sequence

from zitter import checks
from zitter.qmc import Pseudopotential, Radial
from zitter.qmc.systems.pseudopotential_files import content, is_gamess, is_nwchem


def pseudopotential(
    charge: float | None = None,
    local: Radial | None = None,
    channels: Sequence[Radial] = (),
    name: str = "",
    file: str | None = None,
    symbol: str | None = None,
) -> Pseudopotential:
    """A pseudopotential of a `file` in NWChem's or GAMESS's form or of columns, or as numbers.

    `symbol` chooses one element of several in NWChem's form; columns need the `charge` that is
    left.
    """
    if file is None:
        for key, value in (("charge", charge), ("local", local)):
            if value is None:
                raise checks.InputError(key, "must be given where no file is")
        if symbol is not None:
            raise checks.InputError("symbol", "must not be given without a file, but is")
        assert charge is not None and local is not None
        return Pseudopotential(charge, local, channels, name)
    for key, given in (("local", local is not None), ("channels", bool(channels))):
        if given:
            raise checks.InputError(key, "must not be given together with file, but is")
    text = content(file)
    columns = not (is_nwchem(text) or is_gamess(text))
    if columns and charge is None:
        raise checks.InputError("charge", f'must be given for the columns of "{file}"')
    if not columns and charge is not None:
        raise checks.InputError("charge", f'must not be given: "{file}" says it')
    if symbol is not None and not is_nwchem(text):
        raise checks.InputError("symbol", f'must not be given: "{file}" has one element')
    if columns:
        assert charge is not None
        return Pseudopotential.from_table(file, charge, name)
    if is_nwchem(text):
        return Pseudopotential.from_nwchem(file, symbol, name)
    return Pseudopotential.from_gamess(file, name)
