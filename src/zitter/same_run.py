"""Whether a run is the same as one that was begun: then, and only then, it may be continued."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import re
from typing import Any

from zitter import checks

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # where a function lies in this process


def fingerprint(*things: Any) -> str:
    """A digest of whatever shapes the numbers of a run: every array and every static choice.

    `things` may be pytrees (operators, wave functions), tables of input, numbers and text.
    """
    import equinox as eqx
    import jax

    from zitter import runtime

    digest = hashlib.sha256()
    for thing in things:
        leaves, structure = jax.tree.flatten(thing)
        for leaf in leaves:
            if eqx.is_array_like(leaf):
                leaf = runtime.to_host(leaf)
                digest.update(f"{leaf.dtype}{leaf.shape}".encode())
                digest.update(leaf.tobytes())
            else:
                digest.update(_ADDRESS.sub("", repr(leaf)).encode())
        digest.update(_ADDRESS.sub("", str(structure)).encode())
    return digest.hexdigest()


def regardless(thing: Any, *limits: str) -> Any:
    """A copy in which these fields count for nothing, as how far a method may go."""
    known = {field.name for field in dataclasses.fields(thing)}
    other = copy.copy(thing)
    for name in known.intersection(limits):
        object.__setattr__(other, name, None)
    return other


def require(found: str, wanted: str, where: Any) -> None:
    """Refuse to continue what has another fingerprint; `where` it lies is told."""
    if found != wanted:
        raise checks.InputError(
            "resume", f"must continue the same run, but {where} belongs to a different input"
        )
