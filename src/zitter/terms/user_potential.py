"""The user's own potential: a function, an expression, an array or a file."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.grid.basis import Grid
from zitter.bases.spherical.basis import SphericalBasis
from zitter.bases.spinor.basis import SpinorBasis
from zitter.expressions import Expression
from zitter.hamiltonian import Contribution, Moving
from zitter.linalg.base import cast_reals
from zitter.linalg.diagonal import Diagonal
from zitter.terms.atomic import central_potential
from zitter.terms.base import Term, unsupported
from zitter.terms.potential_files import DATASET, Lattice, check_lattice, read_array


class Potential(Term):
    """The user's own V: exactly one of a JAX function, an expression, an array or a file.

        zt.Potential(lambda x, y: x**2 * y**2)              coordinates of the grid's axes, in order
        zt.Potential(expression="0.5*x**2 + 0.1*x*sin(t)")  x, y, z (x1, x2 for two particles), t
        zt.Potential(file="v.h5", dataset="potential")      HDF5, npz, npy or cube, grid-shaped

    A function that needs one argument more than the grid has axes is given the time as the last.
    """

    function: Callable[..., Any] | None = eqx.field(static=True)
    expression: Expression | None = eqx.field(static=True)
    values: Any
    lattice: Lattice | None = eqx.field(static=True)  # where a file says its values are
    source: str = eqx.field(static=True)  # which of the four it is, for what is told about it

    def __init__(
        self,
        function: Callable[..., Any] | None = None,
        *,
        expression: str | None = None,
        array: Any = None,
        file: str | None = None,
        dataset: str = DATASET,
    ):
        sources = {"function": function, "expression": expression, "array": array, "file": file}
        self.source = checks.only_one(sources, "expression")
        self.function = function
        self.expression = None
        if expression is not None:
            names = ("x", "y", "z", "x1", "x2", "x3", "r", "t")
            try:
                self.expression = Expression(expression, names)
            except checks.InputError as error:
                raise checks.InputError("expression", error.message) from None
        self.values, self.lattice = None, None
        if array is not None:
            self.values = checks.array("array", array)
        elif file is not None:
            values, self.lattice = read_array(file, dataset)
            self.values = checks.array("file", values)

    def discretize(self, basis: Basis) -> list[Contribution]:
        if isinstance(basis, SphericalBasis | SpinorBasis):
            return [central_potential(basis, self.central)]
        if not isinstance(basis, Grid):
            raise unsupported(self, basis)
        if self.values is not None:
            if self.values.shape != basis.shape:
                raise checks.InputError(
                    self.source,
                    f"must have the grid's shape {basis.shape}, but has {self.values.shape}",
                )
            if self.lattice is not None:
                check_lattice(self.lattice, basis)
            return [Diagonal(self.values, basis.shape)]
        self._check_names(basis)
        if self._takes_time(basis):
            return [Moving(_MovingPotential(self, basis))]
        values = self.evaluate(basis)
        self._check_shape(values, basis)
        if not checks.is_traced(values) and not bool(jnp.all(jnp.isfinite(values))):
            bad = int(jnp.sum(~jnp.isfinite(values)))
            raise checks.InputError(
                self.source, f"must be finite on the grid, but is not at {bad} point(s)"
            )
        return [Diagonal(values, basis.shape)]

    def central(self, r: Any) -> Any:
        """V(r) on a basis around the origin, where the one coordinate is called r."""
        wanted = "must be a function of r alone for a basis around the origin"
        if self.function is not None:
            needed, most = _arguments(self.function)
            if needed > 1 or most < 1:
                raise checks.InputError("function", f"{wanted}, but takes {needed} argument(s)")
            return self.function(r)
        if self.expression is None:
            raise checks.InputError(self.source, f"{wanted}, but holds values on a grid")
        if set(self.expression.variables_used) - {"r"}:
            raise checks.InputError("expression", wanted)
        return self.expression(r=r) if self.expression.variables_used else self.expression()

    def _takes_time(self, grid: Grid) -> bool:
        if self.expression is not None:
            return "t" in self.expression.variables_used
        assert self.function is not None
        needed, most = _arguments(self.function)
        if needed > grid.ndim + 1 or most < grid.ndim:
            raise checks.InputError(
                "function",
                f"must take {', '.join(grid.axis_names())}, and t where it changes with time, "
                f"but takes {needed if needed > grid.ndim else most} argument(s)",
            )
        return needed == grid.ndim + 1

    def _check_shape(self, values: jax.Array, grid: Grid) -> None:
        try:
            fits = np.broadcast_shapes(values.shape, grid.shape) == grid.shape
        except ValueError:
            fits = False
        if not fits:
            raise checks.InputError(
                self.source,
                f"must give values that fit the grid's shape {grid.shape}, but gives shape "
                f"{values.shape}",
            )

    def _check_names(self, grid: Grid) -> None:
        if self.expression is None:
            return
        unknown = set(self.expression.variables_used) - {*grid.axis_names(), "t"}
        if unknown:
            raise checks.InputError(
                "expression",
                f"must use only {', '.join(grid.axis_names())} and t on this grid, "
                f"but uses {', '.join(sorted(unknown))}",
            )

    def evaluate(self, grid: Grid, t: Any = None) -> jax.Array:
        points = [jnp.asarray(x) for p in range(grid.particles) for x in grid.coordinates(p)]
        if self.expression is not None:
            named = dict(zip(grid.axis_names(), points, strict=True))
            if t is not None:
                named["t"] = t
            used = {name: named[name] for name in self.expression.variables_used}
            return jnp.asarray(self.expression(**used))
        assert self.function is not None
        return jnp.asarray(self.function(*points) if t is None else self.function(*points, t))


class _MovingPotential(eqx.Module):
    """t ↦ V(x, t)."""

    term: Potential
    grid: Grid

    def __call__(self, t: Any, dtype: Any) -> Diagonal:
        values = self.term.evaluate(self.grid, t)
        self.term._check_shape(values, self.grid)
        return cast_reals(Diagonal(values, self.grid.shape), dtype)  # one that absorbs is complex


def _arguments(function: Callable[..., Any]) -> tuple[int, float]:
    """How many arguments by position a function needs, and how many it takes at most."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # NumPy's own functions do not tell
        return 0, math.inf
    given = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    needed = sum(p.default is p.empty for p in given)
    return needed, math.inf if any_number else len(given)
