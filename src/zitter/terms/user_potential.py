"""The user's own potential: a function, an expression, an array or a file."""

from __future__ import annotations

import contextlib
import inspect
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.places import Places
from zitter.expressions import Expression
from zitter.hamiltonian import Contribution, Moving
from zitter.linalg.base import Operator, cast_reals
from zitter.terms.base import Term, unsupported
from zitter.terms.potential_files import DATASET, Lattice, check_lattice, read_array
from zitter.terms.sampling import multiplication


class Potential(Term):
    """The user's own V: exactly one of a JAX function, an expression, an array or a file.

        zt.Potential(lambda x, y: x**2 * y**2)              coordinates of the grid's axes, in order
        zt.Potential(expression="0.5*x**2 + 0.1*x*sin(t)")  x, y, z (x1, x2 for two particles), t
        zt.Potential(expression="-exp(-r)/r")               r on a basis around the origin
        zt.Potential(file="v.h5", dataset="potential")      HDF5, npz, npy or cube, grid-shaped

    A function that needs one argument more than the basis has coordinates is given the time as the
    last.
    """

    moves: ClassVar[bool] = False
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
        if function is not None and not callable(function):
            raise checks.InputError(
                "function",
                "must be a Python function (text goes to expression=, values to array=), but is "
                f"{function!r:.60}",
            )
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
        places = basis.places()
        if self.values is not None:
            self._check_values(basis, places)
            return [multiplication(basis, lambda places: self.values, self.source)]
        self._check_names(places)
        if self._takes_time(places):
            return [Moving(_MovingPotential(self, basis, places.on_device()))]
        return [multiplication(basis, self._finite, self.source)]

    def sample(self, places: Places, t: Any = None) -> jax.Array:
        points = [jnp.asarray(x) for x in places.values]
        if self.expression is not None:
            named = dict(zip(places.names, points, strict=True))
            if t is not None:
                named["t"] = t
            used = {name: named[name] for name in self.expression.variables_used}
            values = jnp.asarray(self.expression(**used))
        else:
            assert self.function is not None
            with _traceable():
                given = self.function(*points) if t is None else self.function(*points, t)
            try:
                values = jnp.asarray(given)
            except (TypeError, ValueError):
                told = "nothing" if given is None else checks.shown(given)
                raise checks.InputError(
                    "function", f"must return the potential's values, but returns {told}"
                ) from None
        self._check_shape(values, places)
        return values

    def _finite(self, places: Places) -> jax.Array:
        values = self.sample(places)
        if not checks.is_traced(values) and not bool(jnp.all(jnp.isfinite(values))):
            bad = int(jnp.sum(~jnp.isfinite(values)))
            where = "for 0 < r ≤ rmax" if places.radial else "on the grid"
            raise checks.InputError(
                self.source, f"must be finite {where}, but is not at {bad} point(s)"
            )
        return values

    def _check_values(self, basis: Basis, places: Places) -> None:
        if places.radial:
            raise checks.InputError(
                self.source,
                "must be a function of r alone for a basis around the origin, but holds values on "
                "a grid",
            )
        if self.values.shape != places.shape:
            raise checks.InputError(
                self.source,
                f"must have the grid's shape {places.shape}, but has {self.values.shape}",
            )
        if self.lattice is not None:
            if basis.lattice is None:
                raise unsupported(self, basis, "values at the points of a lattice need a Grid")
            check_lattice(self.lattice, [np.ravel(x) for x in places.values])

    def _takes_time(self, places: Places) -> bool:
        if self.expression is not None:
            return "t" in self.expression.variables_used
        assert self.function is not None
        needed, most = _arguments(self.function)
        count = len(places.names)
        if needed > count + 1 or most < count:
            raise checks.InputError(
                "function",
                f"must take {', '.join(places.names)}, and t where it changes with time, "
                f"but takes {needed if needed > count else most} argument(s)",
            )
        return needed == count + 1

    def _check_shape(self, values: jax.Array, places: Places) -> None:
        try:
            fits = np.broadcast_shapes(values.shape, places.shape) == places.shape
        except ValueError:
            fits = False
        if not fits:
            raise checks.InputError(
                self.source,
                f"must give values that fit the grid's shape {places.shape}, but gives shape "
                f"{values.shape}",
            )

    def _check_names(self, places: Places) -> None:
        if self.expression is None:
            return
        unknown = set(self.expression.variables_used) - {*places.names, "t"}
        if unknown:
            raise checks.InputError(
                "expression",
                f"must use only {', '.join(places.names)} and t on this basis, "
                f"but uses {', '.join(sorted(unknown))}",
            )


class _MovingPotential(eqx.Module):
    """t ↦ V(x, t)."""

    term: Potential
    basis: Basis
    places: Places

    def __call__(self, t: Any, dtype: Any) -> Operator:
        def sample(places: Places) -> jax.Array:
            return self.term.sample(places, t)

        operator = multiplication(self.basis, sample, self.term.source, self.places)
        return cast_reals(operator, dtype)  # one that absorbs is complex


@contextlib.contextmanager
def _traceable() -> Iterator[None]:
    """A function that asks for a number where there are many, or none yet, is told what to do."""
    try:
        yield
    except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError) as error:
        fault = error
    except (TypeError, ValueError) as error:
        if not re.search("truth value of an array|only scalar arrays", str(error), re.IGNORECASE):
            raise
        fault = error
    else:
        return
    raise checks.InputError(
        "function",
        "must be made of jax.numpy, which takes all places and times at once, but is not: use "
        "jnp.where(condition, a, b) instead of if, and functions of jnp instead of math and np",
    ) from fault


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
