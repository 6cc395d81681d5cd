"""One run for each point of a scan, as one batched program.

    def yield_at(intensity, cep):
        pulse = zt.SineSquared(cycles=4, wavelength="800 nm", intensity=intensity, cep=cep)
        …
        return ionization                          # any array, or several

    zt.scan(yield_at, intensity=["1e13 W/cm^2", "3e13 W/cm^2"], cep=[0.0, 1.57])

The points are walked together, like `zip`, and spread over the devices of the mesh axis `batch`.
The time span and everything else that shapes the program must be the same for all of them. Inside,
values have no numbers yet: `discretize`, `evolve`, its observables, `spectra.ionization_yield` and
`jax.numpy` take them, other functions of `spectra` are for what `scan` returns.

`run` itself is called at every scan; what takes long to compile, its course in time, is kept by its
shapes, so that the same scan with other numbers compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter import batches, checks, runtime, traced
from zitter.bases import edges
from zitter.fields.carrier import checked_ellipticity, warn_of_missing_unit
from zitter.solve import guards

Values = Sequence[Any] | np.ndarray | jax.Array
# What strings with units may stand for, by the name of the argument.
DIMENSIONS = {
    "intensity": "intensity",
    "wavelength": "wavelength",
    "amplitude": "field",
    "frequency": "energy",
    "cep": "angle",
    "duration": "time",
    "start": "time",
}
# How values are judged while they are numbers; inside the run a pulse cannot see them.
JUDGES = {
    "intensity": checks.positive,
    "wavelength": checks.positive,
    "amplitude": checks.positive,
    "frequency": checks.positive,
    "duration": checks.positive,
    "start": checks.non_negative,
    "ellipticity": checked_ellipticity,
}


def scan(run: Callable[..., Any], batch: int | None = None, **values: Values) -> Any:
    """run(**point) for all points at once, or `batch` of them on each device where memory is short.

    Values are numbers in atomic units or, for pulse parameters, strings with units. What `run`
    returns comes back with one more axis in front. Warns, as `evolve` does, with what the worst
    point has at the edges of its basis (the last l, the wall of the box), and of points whose norm
    was lost or won or is no number, which would end a run alone.
    """
    runtime.settings()
    if not values:
        raise checks.InputError("values", "must name at least one argument of the run")
    points = {name: _numbers(name, given) for name, given in values.items()}
    counts = {name: len(column) for name, column in points.items()}
    if len(set(counts.values())) != 1:
        told = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise checks.InputError("values", f"must be of one length, but {told}")
    count = len(next(iter(points.values())))
    on = batches.mesh()
    devices = 1 if on is None else on.size
    size = count if batch is None else min(count, checks.integer("batch", batch, 1) * devices)
    parts, told = [], []
    for first in range(0, count, size):
        part = {name: column[first : first + size] for name, column in points.items()}
        with traced.heard() as found:
            parts.append(_together(run, part))
            jax.effects_barrier()
        told += [(first, one) for one in found]
    edges.warn_of_worst([one for _, one in told if isinstance(one[0], edges.Edge)])
    endings = [(first, one) for first, one in told if isinstance(one[0], guards.Ending)]
    guards.warn_of_endings(endings, count, lambda i: _label(values, i))
    if len(parts) == 1:
        return parts[0]
    return jax.tree.map(lambda *columns: jnp.concatenate(columns), *parts)


def _together(run: Callable[..., Any], points: dict[str, jax.Array]) -> Any:
    count = len(next(iter(points.values())))
    results = batches.mapped(lambda point: run(**point), batches.spread(points, count))
    return jax.tree.map(lambda column: column if len(column) == count else column[:count], results)


def _label(values: dict[str, Values], i: int) -> str:
    """What a point is called in a warning."""
    if checks.is_traced(list(values.values())):
        return str(i)
    text = lambda x: x if isinstance(x, str) else f"{x:g}"  # noqa: E731
    return f"{i}: " + ", ".join(f"{name}={text(given[i])}" for name, given in values.items())


def _is_list(given: Any) -> bool:
    try:
        return np.ndim(given) == 1
    except ValueError:  # lists of different lengths inside
        return False


def _numbers(name: str, given: Values) -> jax.Array:
    if isinstance(given, str) or not _is_list(given) or len(given) == 0:
        raise checks.InputError(name, f"must be a list of at least one value, but is {given!r}")
    if not checks.is_traced(given):
        dimension = DIMENSIONS.get(name)
        judge = JUDGES.get(name, checks.scalar)
        numbers = [judge(f"{name}.{i}", x, dimension) for i, x in enumerate(given)]
        for x in given if name == "intensity" else ():
            warn_of_missing_unit(x)
        given = numbers
    return jnp.asarray(given, jnp.float64)
