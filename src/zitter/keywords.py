"""Keywords of what is public: a misspelt one is refused in the words of input files."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeGuard, TypeVar

import equinox as eqx
import jax

from zitter import checks

P = ParamSpec("P")
T = TypeVar("T")
# Between a caller and the line that warns.
_INSIDE = tuple(str(Path(str(m.__file__)).parent) for m in (checks, eqx, jax))


class KeywordError(checks.InputError, TypeError):
    """A keyword that a function does not have; a TypeError as Python itself would raise."""


def check_keywords(module: str) -> None:
    """Functions and classes that a module offers say what a keyword that they do not know was
    probably meant to be."""
    names = vars(sys.modules[module])
    for name in names["__all__"]:
        offered = names[name]
        if _plain(offered):
            names[name] = _checked(offered)
        elif inspect.isclass(offered) and _plain(init := vars(offered).get("__init__")):
            offered.__init__ = _checked(init, offered.__name__)


def _plain(item: Any) -> TypeGuard[Callable[..., Any]]:
    """Whether it is a function that nobody has wrapped, and that takes no keywords but its own."""
    if not inspect.isfunction(item) or inspect.unwrap(item) is not item:
        return False
    return all(p.kind is not p.VAR_KEYWORD for p in inspect.signature(item).parameters.values())


def _checked(function: Callable[P, T], owner: str = "") -> Callable[P, T]:
    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind not in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)]
    known = known[bool(owner) :]  # without self

    @functools.wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> T:
        for name in given:
            if name not in known:
                raise KeywordError(
                    name,
                    f"must be a keyword of {owner or function.__name__} ({', '.join(known)}), but "
                    f"is none{checks.did_you_mean(name, known)}",
                )
        return function(*args, **given)

    return call


def caller() -> int:
    """`stacklevel` of a warning that names the line outside the package which led to it."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    return level
