"""Sums of operators, merged by kind: one diagonal, one stencil, one spectral part, …"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from zitter.linalg.banded import Banded
from zitter.linalg.base import Operator, Unsupported, total
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.layouts import Layout
from zitter.linalg.neighbors import Neighbors, joined

Kind = TypeVar("Kind", bound=Operator)
Answer = TypeVar("Answer")


class Sum(Operator):
    """O₁ + O₂ + …, at least one part, no two of a kind that could be merged."""

    parts: tuple[Operator, ...]

    def __init__(self, parts: Iterable[Operator]):
        self.parts = tuple(parts)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.parts[0].shape

    @property
    def hermitian(self) -> bool:
        return all(part.hermitian for part in self.parts)

    @property
    def bounded_below(self) -> bool:
        return all(part.bounded_below for part in self.parts)

    @property
    def real(self) -> bool:
        return all(part.real for part in self.parts)

    @property
    def dtype(self) -> Any:
        return jnp.result_type(*(part.dtype for part in self.parts))

    def apply(self, psi: jax.Array) -> jax.Array:
        return total(part.apply(psi) for part in self.parts)

    def scaled(self, factor: Any) -> Sum:
        return Sum(part.scaled(factor) for part in self.parts)

    def merged(self, other: Operator) -> Operator:
        return add([self, other])

    def links(self) -> Neighbors | None:
        found = [part.links() for part in self.parts]
        known = [links for links in found if links is not None]
        return functools.reduce(joined, known) if len(known) == len(found) else None

    def kept(self, rows: np.ndarray) -> Sum:
        return Sum(part.kept(rows) for part in self.parts)

    def divided(self, layout: Layout) -> Operator:
        return add(part.divided(layout) for part in self.parts)

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        pairs = [part.bounds() for part in self.parts]
        return total(low for low, _ in pairs), total(high for _, high in pairs)

    def as_matrix(self) -> jax.Array:
        return total(part.as_matrix() for part in self.parts)

    def as_banded(self) -> Banded:
        return functools.reduce(Banded.plus, (part.as_banded() for part in self.parts))

    def as_sparse(self) -> Any:
        return total(part.as_sparse() for part in self.parts)


def add(operators: Iterable[Operator]) -> Operator:
    """The sum, with parts of one kind merged; a single part stays what it is."""
    parts: list[Operator] = []
    for operator in operators:
        for part in parts_of(operator):
            for i, known in enumerate(parts):
                merged = known.merged(part)
                if merged is not None:
                    parts[i] = merged
                    break
            else:
                parts.append(part)
    return parts[0] if len(parts) == 1 else Sum(parts)


def parts_of(operator: Operator) -> tuple[Operator, ...]:
    """The parts of a sum; a single operator is its own part."""
    return operator.parts if isinstance(operator, Sum) else (operator,)


def partition(
    operator: Operator, belongs: Callable[[Operator], bool]
) -> tuple[Operator | None, Operator | None]:
    """(the parts of a sum that belong, the others), each merged; None for none."""
    inside, outside = [], []
    for part in parts_of(operator):
        (inside if belongs(part) else outside).append(part)
    return (add(inside) if inside else None), (add(outside) if outside else None)


def part_of_kind(operator: Operator, kind: type[Kind]) -> Kind | None:
    """The part of a (merged) sum that has this type."""
    return next((part for part in parts_of(operator) if isinstance(part, kind)), None)


def without_diagonal(operator: Operator) -> Operator | None:
    """T of H = T + V: what is not diagonal, None for nothing."""
    parts = [part for part in parts_of(operator) if not isinstance(part, Diagonal)]
    return add(parts) if parts else None


def diagonal_of(operator: Operator) -> jax.Array:
    """V of H = T + V: the real diagonal part, at every coefficient."""
    diagonal = part_of_kind(operator, Diagonal)
    return jnp.zeros(operator.shape) if diagonal is None else jnp.real(diagonal.full())


def answers(operator: Operator, ask: Callable[[Operator], Answer]) -> list[Answer]:
    """What the parts of a sum answer; those that refuse are left out."""
    found = []
    for part in parts_of(operator):
        with contextlib.suppress(Unsupported):
            found.append(ask(part))
    return found
