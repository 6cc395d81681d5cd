"""The user's own pulse: a function or an expression of time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array

from zitter import checks, runtime, units
from zitter.expressions import Expression
from zitter.fields import piecewise
from zitter.fields import polarization as directions
from zitter.fields.base import NUMBERS, LinearField, check_beginning, held, shown

_SAMPLES = 1024
_LONGEST_NAME = 60


@final
class Waveform(LinearField):
    """A(s) or E(s) as you give it, 0 ≤ s = t − start ≤ `duration`; E is zero outside.

        zt.Waveform(lambda t: 0.1 * jnp.sin(t / 20) ** 2 * jnp.sin(0.5 * t), duration=20 * jnp.pi)
        zt.Waveform("0.1 * sin(t/20)**2 * sin(0.5*t)", duration=62.83)
        zt.Waveform(electric_field="0.05 * exp(-((t - 40)/10)**2)", duration=80, polarization="x")

    Exactly one of the two, in atomic units: a function of one time in `jax.numpy`, or text with the
    arithmetic of `zt.Potential(expression=…)` in t, which is s here. A must begin at zero; E is its
    derivative. From E, A = −∫E ds is integrated once, to 1e-13 where E is smooth and to about 1e-6
    across a jump. Parameters in a `jax.tree_util.Partial`, or in a callable `equinox.Module`, that
    gives A can be differentiated and batched. Light that turns is the sum of two of these.
    """

    potential: Callable[[Array], Array]  # A(s), a pytree of its parameters
    length: Any
    start: Any
    axis: tuple[float, ...] | None = eqx.field(static=True)
    formula: str = eqx.field(static=True)

    def __init__(
        self,
        vector_potential: Callable[[Any], Any] | str | None = None,
        *,
        electric_field: Callable[[Any], Any] | str | None = None,
        duration: float | str,
        polarization: Sequence[float] | str | None = None,
        start: float | str = 0.0,
    ):
        given = {"vector_potential": vector_potential, "electric_field": electric_field}
        key = checks.only_one(given, "vector_potential")
        self.length = checks.positive("duration", duration, "time")
        self.start = checks.non_negative("start", start, "time")
        self.axis = directions.checked(polarization)
        self.formula = f"{'A' if key == 'vector_potential' else 'E'}(t) = {_name(given[key])}"
        function = _function(key, given[key])
        runtime.settings()  # the samples are doubles, whether or not a basis was made before
        _check_function(key, function)
        if key == "vector_potential":
            self.potential = function
            _check_potential(key, function, self.length)
        else:
            self.potential = _integrated(key, function, self.length)

    @property
    def duration(self) -> Any:
        return self.start + self.length

    def _potential(self, t: Array) -> Array:
        s = t - self.start
        first = _values(self.potential, jnp.zeros((), t.dtype))
        return jnp.where(s < 0, 0.0, _values(self.potential, held(s, self.length)) - first)

    def describe(self) -> str:
        return (
            f"Waveform: {self.formula}, {shown(self.length, units.TIME_S * 1e15)} fs, "
            f"{directions.in_words(self.axis)}"
        )


def _function(key: str, given: Any) -> Callable[[Array], Array]:
    """A pytree to call: what JAX sees as parameters are its leaves, the rest is static."""
    if isinstance(given, str):
        return Partial(Expression(given, ("t",), key))
    if not callable(given):
        raise checks.InputError(key, f"must be a function or an expression of t, but is {given!r}")
    if jax.tree_util.all_leaves([given]):
        return Partial(given)
    for leaf in jax.tree.leaves(given):
        if not isinstance(leaf, NUMBERS) and not checks.is_traced(leaf):
            raise checks.InputError(key, f"must have numbers as parameters, but has {leaf!r}")
    # As arrays: a plain number would be compiled into the program, and anew for each value.
    return jax.tree.map(lambda x: x if checks.is_traced(x) else np.asarray(x, float), given)


def _name(given: Any) -> str:
    if isinstance(given, functools.partial):
        return _name(given.func)
    text = given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}…"


def _values(function: Callable[[Array], Array], t: Array) -> Array:
    """In the dtype of `t`, one time after the other: a function may branch on its time."""
    return jnp.vectorize(lambda time: jnp.asarray(function(time), t.dtype))(t)


def _check_function(key: str, function: Callable[[Array], Any]) -> None:
    """Refuse what is not a real function of one time that JAX can follow."""
    try:
        one = jax.eval_shape(function, jax.ShapeDtypeStruct((), np.float64))
    except TypeError as error:
        reason = str(error).split("\n")[0]
        raise checks.InputError(
            key, f"must be a function of one time in jax.numpy, but is not: {reason}"
        ) from error
    if one.shape != () or jnp.issubdtype(one.dtype, jnp.complexfloating):
        raise checks.InputError(
            key, f"must give one real number for each time, but gives {one.dtype}{one.shape}"
        )


def _check_potential(key: str, function: Callable[[Array], Array], length: Any) -> None:
    """Refuse samples that are not finite, E included, or do not begin at zero."""
    if checks.is_traced(length):
        return
    times = np.linspace(0.0, float(length), _SAMPLES)
    sample = jax.jit(jax.vmap(jax.value_and_grad(lambda t: _values(function, t))))
    values, slopes = sample(times)
    if not checks.is_traced((values, slopes)):
        _refuse_infinite(key, "value", values, times)
        _refuse_infinite(key, "slope", slopes, times)
        check_beginning(key, np.asarray(values))


def _integrated(key: str, function: Callable[[Array], Array], length: Any) -> piecewise.Piecewise:
    """A = −∫E ds."""
    if checks.is_traced(length):
        raise checks.InputError(
            "duration", "must be a plain number with electric_field, but is traced by JAX"
        )
    sample = jax.jit(lambda t: _values(function, t))

    def minus(times: np.ndarray) -> np.ndarray:
        # In batches of one size, for which the function is compiled once.
        batches = np.resize(times, (-(-times.size // _SAMPLES), _SAMPLES))
        values = [sample(batch) for batch in batches]
        if checks.is_traced(values):
            raise checks.InputError(
                key, "must not be traced by JAX (a vector_potential may be), but is"
            )
        found = np.ravel(values)[: times.size].reshape(times.shape)
        _refuse_infinite(key, "value", found, times)
        return -found

    return piecewise.integral(key, minus, float(length))


def _refuse_infinite(key: str, what: str, values: Any, times: np.ndarray) -> None:
    wrong = ~np.isfinite(values)
    if np.any(wrong):
        raise checks.InputError(
            key, f"must have a finite {what}, but has none at t = {times[wrong][0]:g}"
        )
