"""Nuclei: point charges, or pseudopotentials, at fixed places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.systems.pseudopotentials import Pseudopotential

ON_NUCLEUS = 1e-6  # bohr: what is nearer than this stands on it


class Nucleus(eqx.Module):
    """A point charge `Z` at `position`, in bohr, the origin unless given.

    With a `pseudopotential`, Z is the charge it leaves to the valence electrons. `symbol` names the
    element; nuclei of one symbol, charge and pseudopotential share what a Jastrow factor says of
    them.
    """

    Z: Any
    position: Any
    symbol: str = eqx.field(static=True)
    pseudopotential: Pseudopotential | None

    def __init__(
        self,
        Z: float | None = None,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        symbol: str = "",
        pseudopotential: Pseudopotential | None = None,
    ):
        if pseudopotential is not None:
            checks.instance("pseudopotential", pseudopotential, Pseudopotential)
            left = float(pseudopotential.charge)
            if Z is not None and abs(float(checks.positive("Z", Z)) - left) > 1e-9:
                raise checks.InputError(
                    "Z", f"must be the charge {left:g} of the pseudopotential, but is {Z:g}"
                )
            Z = left
        elif Z is None:
            raise checks.InputError("Z", "must be given where there is no pseudopotential")
        self.Z = checks.positive("Z", Z)
        self.position = checks.array("position", position, (None,))
        self.symbol = checks.instance("symbol", symbol, str)
        self.pseudopotential = pseudopotential


class Nuclei(eqx.Module):
    """All nuclei of a system as arrays.

    `species` numbers the kinds of nuclei from 0; `pseudopotentials` has an entry for each kind,
    None for a bare charge.
    """

    charges: Any  # (nuclei,)
    positions: Any  # (nuclei, d)
    pseudopotentials: tuple[Pseudopotential | None, ...]
    symbols: tuple[str, ...] = eqx.field(static=True)  # of each kind
    species: tuple[int, ...] = eqx.field(static=True)  # of each nucleus

    def __init__(self, nuclei: Sequence[Nucleus] = (), dimension: int = 3):
        checks.listed("nuclei", nuclei, Nucleus)
        places = [
            checks.array(f"nuclei.{i}.position", nucleus.position, (dimension,))
            for i, nucleus in enumerate(nuclei)
        ]
        self.charges = np.asarray([float(nucleus.Z) for nucleus in nuclei])
        self.positions = np.reshape(np.asarray(places, np.float64), (-1, dimension))
        kinds: list[Nucleus] = []
        species = []
        for nucleus in nuclei:
            alike = [i for i, kind in enumerate(kinds) if _alike(kind, nucleus)]
            species.append(alike[0] if alike else len(kinds))
            if not alike:
                kinds.append(nucleus)
        self.pseudopotentials = tuple(kind.pseudopotential for kind in kinds)
        self.symbols = tuple(kind.symbol for kind in kinds)
        self.species = tuple(species)

    @property
    def count(self) -> int:
        return len(self.species)

    @property
    def kinds(self) -> int:
        return len(self.symbols)

    @property
    def bare(self) -> np.ndarray:
        """(nuclei,): which are point charges, whose −Z/r asks for a cusp of Ψ."""
        bare = [kind is None for kind in self.pseudopotentials]
        return np.asarray([bare[kind] for kind in self.species], bool)


def carried(nuclei: Nuclei, shift: Any) -> Callable[[Any], Any]:
    """Where places (n, d) go when nuclei move by `shift` (nuclei, d).

    Those on a nucleus go with it, others stay.
    """

    def carry(places: Any) -> Any:
        apart = jnp.asarray(places)[:, None] - jnp.asarray(nuclei.positions)
        on = jnp.sum(apart**2, axis=-1) < ON_NUCLEUS**2
        return places + on.astype(jnp.float64) @ shift

    return carry


def _alike(a: Nucleus, b: Nucleus) -> bool:
    same = a.symbol == b.symbol and float(a.Z) == float(b.Z)
    return same and bool(eqx.tree_equal(a.pseudopotential, b.pseudopotential))
