"""Parts of a state that nothing changes: made once at the start of a run, and kept by no file."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax


class Remade(eqx.Module):
    """A part of a state that nothing changes and that begins anew with each run, such as factors of
    a matrix: no file keeps it."""


def is_remade(part: Any) -> bool:
    return isinstance(part, Remade)


def parted(state: Any) -> tuple[Any, Any]:
    """(what no step changes, the rest), to be combined."""
    remade = jax.tree.map(
        lambda part: jax.tree.map(lambda _: is_remade(part), part), state, is_leaf=is_remade
    )
    return eqx.partition(state, remade)
