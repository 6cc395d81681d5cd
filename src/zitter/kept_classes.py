"""The classes that results may hold: bases, physics and pulses, and what those are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zitter.stored import Rule

PACKAGES = ("zitter.bases.", "zitter.terms.", "zitter.fields.")


def rules() -> Iterator[Rule]:
    """Asked for when a basis or model is first saved or wanted from a file: it brings JAX along."""
    import equinox as eqx

    from zitter import public  # noqa: F401  (loads all classes there are)
    from zitter.bases.base import Basis
    from zitter.expressions import Expression

    for cls in _descendants(eqx.Module):
        if f"{cls.__module__}.".startswith(PACKAGES):
            yield Rule(cls, cls.kept, cls.restored) if issubclass(cls, Basis) else Rule(cls)
    yield Rule(Expression, _parts_of_expression, lambda parts: Expression(**parts))


def _descendants(cls: type) -> Iterator[type]:
    for child in cls.__subclasses__():
        yield child
        yield from _descendants(child)


def _parts_of_expression(expression: Any) -> dict[str, Any]:
    return {"text": expression.text, "variables": expression.variables}
