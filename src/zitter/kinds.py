"""The kinds of results, each registered once: its class, who draws it, who animates it.

`zt.load`, `zitter show` and `zitter plot` know this table and the protocol
`zitter.results.Result`, and no kind in particular. Entries name what they need as "module:name", so
that showing a table waits neither for JAX nor for matplotlib.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import checks, data_files, files, io, kept_classes, stored, tables
from zitter.results.base import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

stored.register(kept_classes.rules)


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of result.

    `picture(result, **options)` gives a figure, `film(result, path)` writes an animation; `options`
    are those of `zt.plot.overview`.
    """

    result: str | type[Result]
    picture: str | Callable[..., Figure]
    film: str | Callable[[Any, Path], Path] | None = None


KINDS: dict[str, Kind] = {
    "evolution": Kind(
        "zitter.results.evolution:Solution",
        "zitter.plot.overviews:evolution",
        "zitter.plot.overviews:film",
    ),
    "eigenstates": Kind(
        "zitter.results.stationary:Eigenstates", "zitter.plot.overviews:stationary"
    ),
    "monte carlo": Kind("zitter.qmc.samples:Samples", "zitter.plot.montecarlo:overview"),
    "sweep": Kind("zitter.results.sweep:Sweep", "zitter.plot.sweeps:overview"),
    "control": Kind("zitter.results.controlled:Controlled", "zitter.plot.controlled:overview"),
    "optimization": Kind("zitter.qmc.optimized:Optimized", "zitter.plot.montecarlo:optimization"),
}


def load(path: str | os.PathLike[str]) -> Any:
    """What `save` wrote: a file, or the output directory of a run, which holds `result.h5`."""
    checks.path("file", path)
    if os.path.isdir(path):
        path = os.path.join(path, "result.h5")
    if not os.path.lexists(path):
        raise checks.InputError("file", f'must exist, but there is no "{path}"')
    data = io.read(data_files.plain(path, "a result"))
    kind = data.attributes.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise checks.InputError("file", f'must be a zitter result, but "{path}" is not one')
    with _blamed(path):
        result = _found(KINDS[kind].result).from_dataset(data)
        if not files.has_checksum(path):
            _require_whole(result, data)
        return result


def _require_whole(result: Result, data: io.Dataset) -> None:
    """What a result without a checksum must be: arrays of numbers that fit their dimensions, and
    all that it takes to tell its numbers. Another program may have changed it."""
    for variable in data.variables.values():
        if np.asarray(variable.data).dtype.kind not in "biufc":
            raise ValueError
    io.sizes_of(result.dataset())
    tables.as_json(result.numbers())
    result.summary()


@contextlib.contextmanager
def _blamed(path: Any) -> Iterator[None]:
    """Inside, whatever goes wrong is the fault of the file."""
    try:
        yield
    except KeyError as error:
        raise checks.InputError(
            "file", f'must be a whole zitter result, but "{path}" lacks {error.args[0]}'
        ) from None
    except data_files.FAULTS as error:
        if isinstance(error, checks.ZitterError | OSError):
            raise
        raise checks.InputError(
            "file", f'must be a whole zitter result, but "{path}" is damaged'
        ) from None


@contextlib.contextmanager
def of_file(path: Path) -> Iterator[None]:
    """Around what is made of a loaded result: what another program may have changed in its file,
    and loading does not see, is refused in a sentence."""
    if path.is_dir():
        path = path / "result.h5"
    with contextlib.nullcontext() if files.has_checksum(path) else _blamed(path):
        yield


def picture(result: Result, **options: Any) -> Figure:
    """One figure that shows what a result holds."""
    return _found(_kind(result).picture)(result, **options)


def film(result: Result, path: Path) -> Path:
    """An animation of a result, written to `path`."""
    animated = _kind(result).film
    if animated is None:
        able = ", ".join(name for name, kind in KINDS.items() if kind.film is not None)
        raise checks.InputError(
            "result", f"must be one that moves ({able}) to be animated, but is: {result.kind}"
        )
    return _found(animated)(result, path)


def _kind(result: Result) -> Kind:
    checks.instance("result", result, Result)
    return KINDS[result.kind]


def _found(reference: Any) -> Any:
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)
