"""Hamiltonians given by matrices, on `Levels`: H = M₀ + Σ_j c_j(t) M_j."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.expressions import Expression
from zitter.fields import Field
from zitter.hamiltonian import Contribution, Driven
from zitter.terms.base import Term


class Matrix(Term):
    """A Hermitian matrix between the levels; a list of n numbers stands for a diagonal one."""

    matrix: Any

    def __init__(self, matrix: Any):
        self.matrix = _hermitian(matrix)

    def discretize(self, basis: Basis) -> list[Contribution]:
        return [basis.matrix(self.matrix)]


class DrivenMatrix(Term):
    """c(t) times a Hermitian matrix, with exactly one source of c.

        zt.DrivenMatrix(dipole, pulse=pulse)                   c = E(t), the matrix −μ or +x
        zt.DrivenMatrix(coupling, expression="0.1*cos(t)")     arithmetic in t
        zt.DrivenMatrix(coupling, function=lambda t: ...)      any JAX function

    Derivatives pass through the matrix, the pulse, and a function that is an equinox module.
    """

    moves: ClassVar[bool] = False
    matrix: Any
    pulse: Field | None
    expression: Expression | None = eqx.field(static=True)
    function: Callable[[Any], Any] | None

    def __init__(
        self,
        matrix: Any,
        *,
        pulse: Field | None = None,
        expression: str | None = None,
        function: Callable[[Any], Any] | None = None,
    ):
        self.matrix = _hermitian(matrix)
        sources = {"pulse": pulse, "expression": expression, "function": function}
        checks.only_one(sources, "pulse")
        self.pulse = None if pulse is None else checks.instance("pulse", pulse, Field)
        if pulse is not None and not pulse.is_linear:
            raise checks.InputError("pulse", "must be linearly polarized, but is elliptic")
        self.expression = None if expression is None else Expression(expression, ("t",))
        self.function = function

    def discretize(self, basis: Basis) -> list[Contribution]:
        factor = _Factor(self.pulse, self.expression, self.function)
        return [Driven(factor, basis.matrix(self.matrix))]


class _Factor(eqx.Module):
    """t ↦ c(t)."""

    pulse: Field | None
    expression: Expression | None = eqx.field(static=True)
    function: Callable[[Any], Any] | None

    def __call__(self, t: Any) -> jax.Array:
        if self.pulse is not None:
            return self.pulse.electric_field(t)
        if self.expression is not None:
            used = {"t": t} if self.expression.variables_used else {}
            return jnp.asarray(self.expression(**used))
        assert self.function is not None
        return jnp.asarray(self.function(t))


def _hermitian(matrix: Any) -> Any:
    values = checks.array("matrix", matrix)
    xp = jnp if checks.is_traced(values) else np
    if values.ndim == 1:
        values = xp.diag(values)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise checks.InputError(
            "matrix", f"must be a list of n numbers or n×n of them, but has shape {values.shape}"
        )
    if xp is np and not np.allclose(values, values.conj().T, rtol=1e-12, atol=1e-300):
        raise checks.InputError("matrix", "must be Hermitian, but differs from its adjoint")
    return values
