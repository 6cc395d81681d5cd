"""Keywords of the public functions: a misspelt one is refused in the words of input files."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import equinox as eqx
import jax

from zitter import checks

P = ParamSpec("P")
T = TypeVar("T")
# Between a caller and the line that warns.
_INSIDE = tuple(str(Path(str(m.__file__)).parent) for m in (checks, eqx, jax))


class KeywordError(checks.InputError, TypeError):
    """A keyword that a function does not have; a TypeError as Python itself would raise."""


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which says what a keyword that it does not know was probably meant to be."""
    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY]

    @functools.wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> T:
        for name in given:
            if name not in known:
                raise KeywordError(
                    name,
                    f"must be a keyword of {function.__name__} ({', '.join(known)}), but is none"
                    f"{checks.did_you_mean(name, known)}",
                )
        return function(*args, **given)

    return call


def caller() -> int:
    """`stacklevel` of a warning that names the line outside the package which led to it."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    return level
